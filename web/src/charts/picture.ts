// A figure as an SVG document.

import type { Figure } from "../model";
import { draw } from "./draw";
import { init } from "./echarts";
import { THEMES, type ThemeName } from "./look";

/** Draws a figure without a page. It is as high as its panels need unless a height is given. */
export function toSvg(figure: Figure, width: number, theme: ThemeName, height?: number): string {
  const colors = THEMES[theme];
  const frame = { width, theme: colors, interactive: false, title: figure.title, ...(height === undefined ? {} : { height }) };
  const { option, height: needed } = draw(figure.data, frame);
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height: needed });
  try {
    chart.setOption({ ...option, backgroundColor: colors.background });
    // ECharts' own `renderToSVGString` adds what happens when a mouse is over it.
    const painter = chart.getZr().painter as unknown as { renderToString(options: { cssEmphasis: boolean }): string };
    const described = `<title>${escaped(figure.title)}</title><desc>${escaped(figure.caption)}</desc>`;
    return tidy(painter.renderToString({ cssEmphasis: false }), figure.id).replace(
      /^<svg[^>]*>/,
      (tag) => `${tag.slice(0, -1)} role="img">${described}`,
    );
  } finally {
    chart.dispose();
  }
}

/**
 * The same document every time, and without what only a page needs: ids by the figure rather than by how many were drawn before, so that two may
 * stand in one page, and places with two digits.
 */
function tidy(drawn: string, figureId: string): string {
  const id = figureId.replace(/[^A-Za-z0-9-]/g, "-");
  return drawn
    .replace(/ (?:ecmeta_\w+|pointer-events)="[^"]*"/g, "")
    .replace(/(id="|url\(#|href="#)zr\d+-/g, `$1${id}-`)
    .replace(/ (?:d|points|transform)="[^"]*"/g, (places) => places.replace(/(\.\d\d)\d+/g, "$1"));
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
