// Panels above each other over one axis, each with its heading and its legend.

import type { GridComponentOption, LegendComponentOption, TitleComponentOption } from "./echarts";
import type { Frame } from "./frame";
import { FONT, FONT_SIZE, type Theme } from "./look";
import { carriesUnit } from "./units";
import { BOLD, cut, squeezed, textWidth, wrap } from "./text";

/** A panel, before it has its place. */
export interface Panel {
  heading: string;
  /** The names of series in its legend; a single one needs none. */
  legend: LegendEntry[];
  /** Whether a single one is named all the same, because others have their lines elsewhere. */
  isOneOfMany?: boolean;
  /** What its series are, and so what the legend shows of them: dashes, dashes and symbols, or patterns. */
  drawn: "lines" | "points" | "areas";
  /** Room between the heading and the panel for labels, in pixels. */
  labels: number;
  /** The height of the panel itself, in pixels, where the figure may be as high as it likes. */
  height: number;
}

export interface LegendEntry {
  /** The name of the series in ECharts. */
  series: string;
  /** The name that is shown. */
  name: string;
}

/** Where things are. */
export interface Layout {
  grids: GridComponentOption[];
  titles: TitleComponentOption[];
  legends: LegendComponentOption[];
  /** Where the first panel begins, in pixels. */
  top: number;
  /** The height of the figure in pixels. */
  height: number;
}

const HEADING = 22;
const LEGEND_ROW = 20;
const LEGEND_GAP = 14;
const LEGEND_KEY = 30;
const BETWEEN = 14;
/** A margin that holds more than labels. */
const FAR = 80;
const TITLE_SIZE = 15;

/** Lays panels out above each other, with `margin` beside them and `below` beneath the last. */
export function stack(panels: Panel[], frame: Frame, margin: { left: number; right: number }, below: number): Layout {
  const head = figureTitle(frame);
  // What the figure is called need not be said again.
  panels = panels.map((panel) => (panel.heading === frame.title ? { ...panel, heading: "" } : panel));
  const legends = panels.map((panel) => legendRows(panel, frame.width));
  const around = panels.map((panel, index) => {
    const beside = besideHeading(panel, legends[index]!, frame.width);
    return (panel.heading === "" ? 0 : HEADING) + (beside ? 0 : legends[index]!.length * LEGEND_ROW) + panel.labels;
  });
  const fixed = head.height + sum(around) + BETWEEN * (panels.length - 1) + below;
  const natural = sum(panels.map((panel) => panel.height));
  const scale = frame.height === undefined ? 1 : Math.max(0.2, (frame.height - fixed) / natural);

  const layout: Layout = { grids: [], titles: head.titles, legends: [], top: head.height + (around[0] ?? 0), height: 0 };
  let y = head.height;
  for (const [index, panel] of panels.entries()) {
    if (panel.heading !== "") layout.titles.push(heading(panel.heading, y, frame));
    const rows = legends[index]!;
    const beside = besideHeading(panel, rows, frame.width);
    const legendTop = panel.heading === "" || beside ? y : y + HEADING;
    // A legend for each row, because ECharts breaks rows by widths of its own.
    for (const [row, entries] of rows.entries()) {
      // Beside the heading to the right, or where the panel ends long before the figure does, next to it.
      const left = !beside ? 0 : margin.right > FAR ? headingWidth(panel) : undefined;
      layout.legends.push(legend(entries, panel.drawn, legendTop + row * LEGEND_ROW, left, longestName(frame.width), frame.theme));
    }
    y += around[index]!;
    const height = Math.round(panel.height * scale);
    layout.grids.push({ left: margin.left, right: margin.right, top: y, height, outerBoundsMode: "none" });
    y += height + BETWEEN;
  }
  layout.height = y - BETWEEN + below;
  return layout;
}

/** A heading with its unit, unless the numbers of the axis carry it, and with "log" if the axis is logarithmic. */
export function withUnit(title: string, unit: string, log = false): string {
  const shown = unit === "" || unit === title.toLowerCase() || carriesUnit(unit) ? [] : [unit];
  const said = [...shown, ...(log ? ["log"] : [])].join(", ");
  return said === "" ? title : `${title} (${said})`;
}

/** The title of the whole figure, where it has one, and the height that it takes. */
function figureTitle(frame: Frame): { titles: TitleComponentOption[]; height: number } {
  if (frame.title === undefined) return { titles: [], height: 4 };
  const lines = wrap(frame.title, TITLE_SIZE * BOLD, frame.width - 8, 3);
  const title: TitleComponentOption = {
    text: lines.join("\n"),
    left: 0,
    top: 4,
    padding: 0,
    textStyle: { color: frame.theme.text, fontFamily: FONT, fontSize: TITLE_SIZE, fontWeight: "bold", lineHeight: 20 },
  };
  return { titles: [title], height: 12 + 20 * lines.length };
}

function heading(words: string, top: number, frame: Frame): TitleComponentOption {
  return {
    text: cut(words, FONT_SIZE * BOLD, frame.width - 8),
    left: 0,
    top: top + 3,
    padding: 0,
    textStyle: { color: frame.theme.text, fontFamily: FONT, fontSize: FONT_SIZE, fontWeight: "bold" },
  };
}

function legend(entries: LegendEntry[], drawn: Panel["drawn"], top: number, left: number | undefined, longest: number, theme: Theme): LegendComponentOption {
  const shown = new Map(entries.map((entry) => [entry.series, squeezed(entry.name, FONT_SIZE, longest)]));
  return {
    type: "plain",
    data: [...shown.keys()],
    formatter: (series) => shown.get(series) ?? "",
    top: top + 2,
    ...(left === undefined ? { right: 4 } : { left }),
    padding: 0,
    itemGap: LEGEND_GAP,
    itemWidth: LEGEND_KEY - 6,
    // ECharts puts a symbol on every line's key; without height it cannot be seen.
    itemHeight: drawn === "lines" ? 0 : 10,
    ...(drawn === "areas" ? { icon: "roundRect" } : {}),
    textStyle: { color: theme.text, fontFamily: FONT, fontSize: FONT_SIZE },
    inactiveColor: theme.grid,
  };
}

/** The entries of a legend in rows that fit. */
function legendRows({ legend: entries, isOneOfMany = false }: Panel, width: number): LegendEntry[][] {
  if (entries.length < (isOneOfMany ? 1 : 2)) return [];
  const rows: LegendEntry[][] = [[]];
  let used = 0;
  for (const entry of entries) {
    const needed = entryWidth(entry, width);
    if (used > 0 && used + needed > width - 8) {
      rows.push([]);
      used = 0;
    }
    rows[rows.length - 1]!.push(entry);
    used += needed;
  }
  return rows;
}

function besideHeading(panel: Panel, rows: LegendEntry[][], width: number): boolean {
  if (rows.length !== 1 || panel.heading === "") return false;
  const needed = sum(rows[0]!.map((entry) => entryWidth(entry, width)));
  return headingWidth(panel) + needed <= width;
}

/** The room that a heading takes, with some behind it. */
function headingWidth(panel: Panel): number {
  return textWidth(panel.heading, FONT_SIZE) * 1.06 + 24;
}

function entryWidth(entry: LegendEntry, width: number): number {
  return LEGEND_KEY + Math.min(longestName(width), textWidth(entry.name, FONT_SIZE)) + LEGEND_GAP;
}

/** A name may take a row of its own: what tells it from the others often stands at its end. */
function longestName(width: number): number {
  return width - LEGEND_KEY - LEGEND_GAP - 12;
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
