// Figures as SVG, for crates/dyno-charts, which evaluates this in QuickJS: there is neither a page nor a timer.

import { setPlatformAPI } from "echarts/core";

import { toSvg } from "./charts/picture";
import { BOLD, textWidth } from "./charts/text";
import { THEMES, type ThemeName } from "./charts/look";
import type { Figure } from "./model";

declare global {
  var renderSvg: (figureJson: string, width: number, height?: number | null, theme?: string) => string;
}

// ECharts asks for frames of animations; nothing here is animated, so they need not come.
globalThis.setTimeout ??= (() => 0) as unknown as typeof setTimeout;

// Without a canvas ECharts takes letters to be narrower than those of most readers' fonts, and legends run into each other.
setPlatformAPI({
  measureText: (text, font = "") => ({ width: textWidth(text, Number(/(\d+)px/.exec(font)?.[1] ?? 12)) * (/bold/.test(font) ? BOLD : 1) }),
});

globalThis.renderSvg = (figureJson, width, height, theme = "light") => {
  if (!(theme in THEMES)) throw new Error(`there is no theme ${JSON.stringify(theme)}`);
  return toSvg(JSON.parse(figureJson) as Figure, width, theme as ThemeName, height ?? undefined);
};
