// Latency over the share of transactions, on an axis of nines: the slowest get as much room as all others.

import type { Curve, Percentiles } from "../model";
import { valueAxis } from "./axes";
import type { LineSeriesOption, Option, Axis } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { tooltip } from "./interaction";
import { FONT, seriesLook, SMALL, type Theme } from "./look";
import { stack, withUnit, type Panel } from "./panels";
import type { Readout } from "./readout";
import { textWidth } from "./text";
import { logScale, quantity } from "./units";

const HEIGHT = 280;
const LEFT = 64;
const RIGHT = 30;
const BELOW = 40;
/** Percentiles that may have a tick. */
const TICKS = [0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999];

export function percentiles(data: Percentiles, frame: Frame): Drawing {
  const { theme } = frame;
  const places = looksOf(data);
  const names = data.curves.map((curve) => ({ series: curve.name, name: curve.baseline ? `${curve.name} (baseline)` : curve.name }));
  const panel: Panel = { heading: withUnit("Latency", "", true), legend: names, isOneOfMany: data.names.length > 1, drawn: "lines", labels: 0, height: HEIGHT };
  const layout = stack([panel], frame, { left: LEFT, right: RIGHT }, BELOW);
  const end = Math.max(1, ...data.curves.flatMap((curve) => curve.percentile.map(nines)));
  const latencies = [...(data.reach ?? []), ...data.curves.flatMap((curve) => curve.latency_us)];
  const readout = percentileReadout(data, theme);
  const option: Option = {
    animation: false,
    title: layout.titles,
    legend: layout.legends,
    grid: layout.grids,
    xAxis: [ninesAxis(end, frame)],
    yAxis: [valueAxis(0, logScale(latencies, "µs", 9), "µs", true, theme)],
    series: data.curves.map((curve, index) => curveSeries(curve, places[index]!, theme)),
    ...tooltip(frame, "axis", readout),
  };
  return { option, height: layout.height, readout };
}

/** A percentile on the axis of nines: 90 at 1, 99 at 2, 99.9 at 3. */
export function nines(percentile: number): number {
  return Math.abs(Math.log10(Math.max(1e-12, 1 - percentile / 100)));
}

/** The percentile at a place of the axis of nines. */
function percentileAt(place: number): number {
  return 100 * (1 - 10 ** -place);
}

function ninesAxis(end: number, frame: Frame): Axis {
  const { theme } = frame;
  const perNine = (frame.width - LEFT - RIGHT) / end;
  const label = (place: number) => `${Number(percentileAt(place).toPrecision(12))} %`;
  // 50 % is close to 0 %, and nines get longer and longer: those go that would touch their neighbour.
  const ticks: number[] = [];
  for (const place of TICKS.map(nines).filter((tick) => tick <= end + 1e-9)) {
    const before = ticks[ticks.length - 1];
    const room = before === undefined ? Infinity : (place - before) * perNine;
    const needed = before === undefined ? 0 : (textWidth(label(before), SMALL) + textWidth(label(place), SMALL)) / 2 + 6;
    if (room >= needed) ticks.push(place);
  }
  return {
    type: "value",
    min: 0,
    max: end,
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.axis } },
    axisTick: { show: true, customValues: ticks, lineStyle: { color: theme.axis } },
    axisLabel: { customValues: ticks, color: theme.muted, fontFamily: FONT, fontSize: SMALL, formatter: label },
    splitLine: { show: true, lineStyle: { color: theme.grid } },
    axisPointer: { lineStyle: { color: theme.muted, width: 1 }, label: { show: false } },
    name: "share of transactions that took at most this long",
    nameLocation: "middle",
    nameGap: 24,
    nameTextStyle: { color: theme.muted, fontFamily: FONT, fontSize: SMALL },
  };
}

/** The number of the look of each curve. */
function looksOf({ curves, names }: Percentiles): number[] {
  const all = [...new Set([...names, ...curves.map(({ name }) => name)])];
  return curves.map(({ name }) => all.indexOf(name));
}

function curveSeries(curve: Curve, index: number, theme: Theme): LineSeriesOption {
  const { color, dash } = seriesLook(theme, index);
  return {
    type: "line",
    name: curve.name,
    data: curve.percentile.map((percentile, at) => {
      const latency = curve.latency_us[at] ?? 0;
      return [nines(percentile), latency > 0 ? latency : null];
    }),
    symbol: "none",
    color,
    lineStyle: { color, width: curve.baseline ? 3 : 1.75, type: dash },
    emphasis: { disabled: true },
  };
}

function percentileReadout(data: Percentiles, theme: Theme): Readout {
  const places = looksOf(data);
  return ({ axisValue }) => {
    const place = Number(axisValue);
    if (!Number.isFinite(place)) return undefined;
    const lines = data.curves.flatMap((curve, index) => {
      const at = curve.percentile.findIndex((percentile) => nines(percentile) >= place - 1e-9);
      const latency = curve.latency_us[at];
      return latency === undefined
        ? []
        : [{ name: curve.name, value: quantity(latency, "µs"), color: seriesLook(theme, places[index]!).color }];
    });
    return { heading: `${Number(percentileAt(place).toPrecision(Math.max(3, Math.ceil(place) + 2)))} %`, lines };
  };
}
