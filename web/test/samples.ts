// A figure of each kind, with names that would do harm if they were taken for HTML or for templates of ECharts.

import type { Bars, FigureData, HeatMap, Matrix, MatrixCell, Percentiles, Series, Sweep, Timeline } from "../src/model";

export const HOSTILE = "<img src=x onerror=alert(1)> {a|b} {c} & \"'";

export function series(name: string, mean: (number | null)[], extra: Partial<Series> = {}): Series {
  return { name, role: "course", first_s: 0, step_s: 1, mean, min: [], max: [], ...extra };
}

export const TIMELINE: Timeline = {
  group: "001",
  start_s: -5,
  end_s: 6,
  lanes: [
    {
      id: "tps",
      title: "Throughput",
      unit: "TPS",
      log: false,
      stacked: false,
      reach: null,
      series: [
        series("update", [100, 120, null, 130, 90], { min: [90, 110, null, 120, 40], max: [110, 130, null, 140, 99] }),
        series(HOSTILE, [1, 2, 3, 4, 5]),
      ],
    },
    { id: "p99", title: "Latency", unit: "µs", log: true, stacked: false, reach: null, series: [series("update", [150, 0, 90_000, null, 210])] },
    { id: "waits", title: "Waits", unit: "sessions", log: false, stacked: true, reach: null, series: [series("IO", [1, 2, 3]), series("Lock", [4, 5, 6])] },
  ],
  spans: [
    { kind: "warmup", start_s: -5, end_s: 0, label: "warm-up", weight: 100 },
    { kind: "stage", start_s: 0, end_s: 3, label: "", weight: 100 },
    { kind: "dip", start_s: 3, end_s: 4, label: HOSTILE, weight: 60 },
  ],
  marks: [
    { kind: "timed_checkpoint", start_s: 1, end_s: 2.5, label: "checkpoint by time" },
    { kind: "errors", start_s: 4, end_s: null, label: HOSTILE },
  ],
  names: [],
};

export const HEAT_MAP: HeatMap = {
  group: "001",
  start_s: 0,
  end_s: 170,
  first_s: 0,
  step_s: 60,
  bounds_us: [100, 1000, 10_000],
  counts: [
    [50, 2],
    [0, 0],
    [40, 8],
  ],
};

export const PERCENTILES: Percentiles = {
  reach: null,
  names: [],
  curves: [
    { name: HOSTILE, baseline: true, percentile: [50, 90, 99, 99.9], latency_us: [100, 200, 900, 8000] },
    { name: "off", baseline: false, percentile: [50, 90, 99], latency_us: [90, 180, 0] },
  ],
};

export const SWEEP: Sweep = {
  factor: "clients",
  log: true,
  panels: [
    {
      title: "Throughput",
      unit: "TPS",
      log: false,
      reach: null,
      lines: [
        {
          name: HOSTILE,
          knee: 4,
          points: [
            { level: 1, value: 100, low: 90, high: 110 },
            { level: 4, value: 300, low: null, high: null },
          ],
        },
        { name: "other", knee: 7, points: [] },
      ],
    },
  ],
};

export const BARS: Bars = {
  title: "Throughput",
  unit: "TPS",
  reach: null,
  asked: null,
  categories: ["direct", HOSTILE],
  series: [{ name: "one", values: [10_000, null], low: [9_000, null], high: [11_000, null] }, { name: "two", values: [5, 6], low: [], high: [] }],
};

export const MATRIX: Matrix = {
  title: "TPS, ratio to on",
  unit: "",
  ratio: true,
  less_is_better: [false, true, false],
  row_factor: HOSTILE,
  column_factor: "clients",
  rows: ["on", "off"],
  columns: ["1", "8", "64"],
  cells: [
    [{ ...cell(1), baseline: true }, cell(1, true), cell(1, true)],
    [cell(1.5), cell(0.8), cell(null)],
  ],
};

function cell(value: number | null, unproven = false): MatrixCell {
  return { value, interval: value === null ? "" : "0.7 to 1.6", unproven, baseline: false };
}

export const ALL: FigureData[] = [
  { kind: "timeline", ...TIMELINE },
  { kind: "heat_map", ...HEAT_MAP },
  { kind: "percentiles", ...PERCENTILES },
  { kind: "sweep", ...SWEEP },
  { kind: "bars", ...BARS },
  { kind: "matrix", ...MATRIX },
];

/** Figures without anything in them. */
export const EMPTY: FigureData[] = [
  { kind: "timeline", group: "", start_s: 0, end_s: 0, lanes: [], spans: [], marks: [], names: [] },
  { kind: "timeline", ...TIMELINE, lanes: [{ id: "a", title: "", unit: "µs", log: true, stacked: false, reach: null, series: [series("a", [null, 0])] }], marks: [] },
  { kind: "heat_map", group: "", start_s: 0, end_s: 0, first_s: 0, step_s: 1, bounds_us: [], counts: [] },
  { kind: "percentiles", reach: null, names: [], curves: [] },
  { kind: "sweep", factor: "", log: true, panels: [] },
  { kind: "sweep", factor: "x", log: true, panels: [{ title: "", unit: "", log: true, reach: null, lines: [] }] },
  { kind: "bars", reach: null, asked: null, title: "", unit: "", categories: [], series: [] },
  { kind: "matrix", title: "", unit: "", ratio: true, less_is_better: [], row_factor: "", column_factor: "", rows: [], columns: [], cells: [] },
];
