// How many transactions took how long, over time: a map with time to the right and latency upwards.

import type { HeatMap } from "../model";
import { gutter, RIGHT, TIME_BELOW, timeAxis, valueAxis } from "./axes";
import type { CustomSeriesOption, LineSeriesOption, Option } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { SLIDER, timeZoom, tooltip } from "./interaction";
import { SMALL, type Theme } from "./look";
import { painter, rect, text, tiles, type Area, type Shape, type Tile } from "./painter";
import { stack, withUnit, type Panel } from "./panels";
import type { Readout } from "./readout";
import { textWidth } from "./text";
import { clock, logScale, number, quantity, type Scale } from "./units";

const HEIGHT = 240;
/** How many limits of rows are worth a line of the readout. */
const MOST_ROWS = 12;

export function heatMap(data: HeatMap, frame: Frame): Drawing {
  const { theme } = frame;
  const margin = { left: gutter(frame.width), right: RIGHT };
  const panel: Panel = { heading: withUnit("Latency", "", true), legend: [], drawn: "areas", labels: frame.width < 600 ? 20 : 0, height: HEIGHT };
  const layout = stack([panel], frame, margin, TIME_BELOW + (frame.interactive ? SLIDER : 0));
  const end_s = Math.max(data.end_s, data.start_s + 1);
  const shades = shadesOf(data, theme);
  const readout = heatReadout(data);
  const option: Option = {
    animation: false,
    useUTC: true,
    title: layout.titles,
    grid: layout.grids,
    xAxis: [timeAxis(0, data.start_s, end_s, true, theme)],
    yAxis: [valueAxis(0, latencyScale(data.bounds_us), "µs", true, theme)],
    series: [cells(data, shades), key(shades, frame), columns(data)],
    ...tooltip(frame, "axis", readout),
    ...timeZoom(frame, 1, margin.left, margin.right),
  };
  return { option, height: layout.height, readout, time: { group: data.group, start_s: data.start_s, end_s, top: layout.top } };
}

/** Exactly as high as the rows. */
function latencyScale(bounds_us: number[]): Scale {
  const positive = bounds_us.filter((bound) => bound > 0);
  const min = positive[0] ?? 1;
  const max = Math.max(positive[positive.length - 1] ?? 10, min * 1.01);
  const ticks = logScale([min, max], "µs", 12).ticks.filter((tick) => tick >= min * (1 - 1e-9) && tick <= max * (1 + 1e-9));
  return { min, max, ticks: ticks.length > 0 ? ticks : [min, max] };
}

/** Shades by the logarithm of the rate. */
interface Shades {
  colors: readonly string[];
  low: number;
  high: number;
  of(rate: number): number;
}

function shadesOf(data: HeatMap, theme: Theme): Shades {
  let [low, high] = [Infinity, 0];
  for (const column of data.counts) {
    for (const rate of column) {
      if (rate > 0) {
        low = Math.min(low, rate);
        high = Math.max(high, rate);
      }
    }
  }
  // More than four decades would leave nothing to tell apart at the upper end, where most transactions are.
  low = Math.max(low, high / 1e4);
  const count = theme.heat.length;
  const span = Math.log(high / low) || 1;
  const of = (rate: number) => Math.max(0, Math.min(count - 1, Math.floor((Math.log(rate / low) / span) * count)));
  return { colors: theme.heat, low, high, of };
}

/** The cells, as one shape per shade. */
function cells(data: HeatMap, shades: Shades): CustomSeriesOption {
  return painter({ id: "cells", panel: 0, z: 1, clip: true }, (panelArea) => {
    const edges = data.bounds_us.map((bound) => Math.round(panelArea.atY(bound)));
    const byShade = shades.colors.map((): Tile[] => []);
    for (const { from, to, rates } of columnsInSight(data, panelArea)) {
      let row = 0;
      while (row < rates.length) {
        const shade = rates[row]! > 0 ? shades.of(rates[row]!) : -1;
        const first = row;
        while (row < rates.length && (rates[row]! > 0 ? shades.of(rates[row]!) : -1) === shade) row++;
        const [bottom, top] = [edges[first], edges[row]];
        if (shade >= 0 && bottom !== undefined && top !== undefined) byShade[shade]!.push([from, top, to - from, bottom - top]);
      }
    }
    return byShade.flatMap((all, shade): Shape[] => (all.length === 0 ? [] : [tiles(all, shades.colors[shade]!)]));
  });
}

/** The columns that are in sight, and of those that share their pixels one with the highest rates, so that no peak is lost. */
function columnsInSight(data: HeatMap, { x, width, atX }: Area): { from: number; to: number; rates: number[] }[] {
  const columns: { from: number; to: number; rates: number[] }[] = [];
  for (const [index, counts] of data.counts.entries()) {
    const from = Math.round(atX((data.first_s + index * data.step_s) * 1000));
    const to = Math.round(atX((data.first_s + (index + 1) * data.step_s) * 1000));
    if (to < x || from > x + width) continue;
    const last = columns[columns.length - 1];
    if (last && last.to - last.from < 2 && from < last.from + 2) {
      last.rates = last.rates.map((rate, row) => Math.max(rate, counts[row] ?? 0));
      last.to = Math.max(last.to, to);
    } else {
      columns.push({ from, to: Math.max(to, from + 1), rates: [...counts] });
    }
  }
  return columns;
}

/** What the shades mean: in the line of the heading, or beneath it on narrow screens. */
function key(shades: Shades, frame: Frame): CustomSeriesOption {
  const { theme } = frame;
  return painter({ id: "key", panel: 0, z: 1, clip: false }, ({ x, y, width }): Shape[] => {
    if (!(shades.high > 0)) return [];
    const box = 14;
    const gap = 5;
    const [few, many] = [number(Number(shades.low.toPrecision(2))), `${number(Number(shades.high.toPrecision(2)))} TPS per cell`];
    const needed = textWidth(few + many, SMALL) + 2 * gap + shades.colors.length * box;
    const left = frame.width < 600 ? 0 : x + width - needed;
    const middle = y - 12;
    const boxes = left + textWidth(few, SMALL) + gap;
    return [
      text(boxes - gap, middle, few, theme.muted, "right"),
      ...shades.colors.map((color, index) => rect(boxes + index * box, middle - 5, box, 10, color)),
      text(boxes + shades.colors.length * box + gap, middle, many, theme.muted),
    ];
  });
}

/** The columns as places that can be pointed at, with their rates. */
function columns(data: HeatMap): LineSeriesOption {
  const middle = data.bounds_us[Math.floor(data.bounds_us.length / 2)] ?? 1;
  return {
    type: "line",
    id: "columns",
    data: data.counts.map((_, index) => {
      const middle_s = data.first_s + (index + 0.5) * data.step_s;
      return [Math.max(data.start_s, Math.min(data.end_s, middle_s)) * 1000, middle];
    }),
    symbol: "none",
    silent: true,
    lineStyle: { width: 0, opacity: 0 },
  };
}

function heatReadout(data: HeatMap): Readout {
  return ({ axisValue }) => {
    const time_s = Number(axisValue) / 1000;
    const column = data.counts[Math.floor((time_s - data.first_s) / data.step_s)];
    if (column === undefined) return undefined;
    const rows = column
      .map((rate, row) => ({ rate, low: data.bounds_us[row] ?? 0, high: data.bounds_us[row + 1] ?? 0 }))
      .filter(({ rate }) => rate > 0);
    // The fullest rows, slowest first as in the map.
    const told = [...rows].sort((one, other) => other.rate - one.rate).slice(0, MOST_ROWS).sort((one, other) => other.low - one.low);
    const lines = told.map(({ rate, low, high }) => ({
      name: `${quantity(low, "µs")} to ${quantity(high, "µs")}`,
      value: quantity(rate, "TPS"),
    }));
    if (rows.length > told.length) lines.push({ name: "other latencies", value: quantity(sumOf(rows) - sumOf(told), "TPS") });
    return { heading: clock(time_s), lines };
  };
}

function sumOf(rows: { rate: number }[]): number {
  return rows.reduce((total, { rate }) => total + rate, 0);
}
