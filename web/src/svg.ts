// Figures as SVG, for crates/dyno-charts, which evaluates this in QuickJS: there is neither a page nor a timer.

import { toSvg } from "./charts/picture";
import { THEMES, type ThemeName } from "./charts/look";
import type { Figure } from "./model";

declare global {
  var renderSvg: (figureJson: string, width: number, height?: number | null, theme?: string) => string;
}

// ECharts asks for frames of animations; nothing here is animated, so they need not come.
globalThis.setTimeout ??= (() => 0) as unknown as typeof setTimeout;

globalThis.renderSvg = (figureJson, width, height, theme = "light") => {
  if (!(theme in THEMES)) throw new Error(`there is no theme ${JSON.stringify(theme)}`);
  return toSvg(JSON.parse(figureJson) as Figure, width, theme as ThemeName, height ?? undefined);
};
