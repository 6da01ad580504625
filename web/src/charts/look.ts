// Colours, dash patterns and symbols. Nothing is told by colour alone: lines differ in dashes or symbols, areas and bars in patterns.

import type { Role } from "../model";
import type { BarSeriesOption } from "./echarts";

type DecalObject = Exclude<NonNullable<NonNullable<BarSeriesOption["itemStyle"]>["decal"]>, "none">;

/** Where a figure is looked at. */
export type ThemeName = "light" | "dark" | "print";

/** The colours of a figure. */
export interface Theme {
  text: string;
  /** Of what is beside the point: units, ticks. */
  muted: string;
  /** Of axes. */
  axis: string;
  /** Of lines across a panel. */
  grid: string;
  /** What is behind the figure, for gaps between areas and for rings. */
  background: string;
  /** Of series, in order. */
  series: readonly string[];
  /** From few to many. */
  heat: readonly string[];
  /** From far below 1 to far above, with 1 in the middle. */
  diverging: readonly string[];
  /** Shades of stretches of time. */
  spans: Readonly<Record<"warmup" | "stage" | "dip", string>>;
  /** Of thin lines at instants. */
  instant: string;
  /** Of what is said about dips. */
  dip: string;
  /** Of patterns over areas. */
  pattern: string;
}

// Okabe and Ito's palette, which people with any colour vision can tell apart, without its yellow, which is too pale on white.
const LIGHT: Theme = {
  text: "#1b1f24",
  muted: "#59636e",
  axis: "#8c959f",
  grid: "#e4e7eb",
  background: "#ffffff",
  series: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d"],
  heat: ["#cfe1f2", "#a9cee4", "#7db8da", "#519ccc", "#2f7ebc", "#1461a8", "#08468b", "#082f60"],
  diverging: ["#b35806", "#e08214", "#fdb863", "#fee0b6", "#f7f7f7", "#d1e5f0", "#92c5de", "#4393c3", "#2166ac"],
  spans: { warmup: "rgba(110,119,129,0.16)", stage: "rgba(110,119,129,0.07)", dip: "rgba(213,94,0,0.14)" },
  instant: "rgba(89,99,110,0.45)",
  dip: "#a84a00",
  pattern: "rgba(255,255,255,0.5)",
};

// The same hues, lighter where they would sink into a dark page.
const DARK: Theme = {
  text: "#e6edf3",
  muted: "#9da7b3",
  axis: "#6e7681",
  grid: "#2b323b",
  background: "#0f1419",
  series: ["#56b4e9", "#f08a4b", "#2fc79a", "#e6a3c8", "#f0c24b", "#8ea8ff", "#b8c0c8"],
  heat: ["#183a5c", "#17466f", "#1b5a8d", "#2a73aa", "#4a90c2", "#7aafd6", "#b0d0e8", "#e8f3fb"],
  diverging: ["#f0a04b", "#c47a2c", "#8a5a2b", "#574434", "#30363d", "#2f4a60", "#2f6690", "#3f86bd", "#6cb0e6"],
  spans: { warmup: "rgba(139,148,158,0.22)", stage: "rgba(139,148,158,0.10)", dip: "rgba(240,138,75,0.20)" },
  instant: "rgba(157,167,179,0.4)",
  dip: "#ffb27a",
  pattern: "rgba(15,20,25,0.45)",
};

export const THEMES: Readonly<Record<ThemeName, Theme>> = { light: LIGHT, dark: DARK, print: LIGHT };

export const FONT = "sans-serif";
export const FONT_SIZE = 12;
export const SMALL = 11;

const DASHES: readonly ("solid" | number[])[] = ["solid", [7, 3], [2, 2], [9, 3, 2, 3], [14, 4], [5, 2, 1, 2, 1, 2], [3, 5]];
const SYMBOLS = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle", "emptyDiamond"] as const;

/** How the series with a number from 0 is drawn. */
export function seriesLook(theme: Theme, index: number): { color: string; dash: "solid" | number[]; symbol: string } {
  return {
    color: cycle(theme.series, index),
    dash: cycle(DASHES, index),
    symbol: cycle(SYMBOLS, index),
  };
}

/** How a line over time is drawn: levels that others are judged by are no rivals of these. */
export function timelineLook(theme: Theme, index: number, role: Role): { color: string; dash: "solid" | number[]; width: number } {
  const { color, dash } = seriesLook(theme, index);
  return role === "level" ? { color: theme.muted, dash, width: 1 } : { color, dash, width: 1.5 };
}

/** The pattern over the areas or bars of the series with a number from 0, for `itemStyle`; the first is plain. */
export function pattern(theme: Theme, index: number): { decal?: DecalObject } {
  const lines = (rotation: number, gap: number): DecalObject => ({
    symbol: "rect",
    color: theme.pattern,
    dashArrayX: [1, 0],
    dashArrayY: [2, gap],
    rotation,
  });
  const dots: DecalObject = { symbol: "circle", symbolSize: 0.7, color: theme.pattern, dashArrayX: [[6, 6], [0, 6, 6, 0]], dashArrayY: [5, 0] };
  const all = [lines(-Math.PI / 4, 6), dots, lines(Math.PI / 4, 6), lines(0, 6), lines(Math.PI / 2, 5), lines(-Math.PI / 4, 3)];
  return index === 0 ? {} : { decal: cycle(all, index - 1) };
}

function cycle<T>(values: readonly T[], index: number): T {
  return values[index % values.length]!;
}
