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
    const described = `<title>${escaped(figure.title)}</title><desc>${escaped(figure.caption)}</desc>`;
    return chart.renderToSVGString().replace(/^<svg[^>]*>/, (tag) => `${tag.slice(0, -1)} role="img">${described}`);
  } finally {
    chart.dispose();
  }
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}
