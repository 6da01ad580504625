// Values beside each other: upright where the names of the groups have room beneath, else lying.

import type { Bars, BarSeries } from "../model";
import { valueAxis } from "./axes";
import type { BarSeriesOption, CustomSeriesOption, Option, Axis } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { tooltip } from "./interaction";
import { FONT, pattern, seriesLook, SMALL, type Theme } from "./look";
import { line, painter, text, type Shape } from "./painter";
import { stack, withUnit, type Panel } from "./panels";
import type { Readout } from "./readout";
import { squeezed, textWidth } from "./text";
import { carriesUnit, linearScale, number, quantity } from "./units";

const UPRIGHT_HEIGHT = 260;
const LEFT = 72;
const RIGHT = 20;
/** Of lying bars: the thickness of one, and the space between groups. */
const THICKNESS = 20;
const SPACE = 12;
const THICKEST = 56;
/** How much of the room of a group its bars take at most. */
const GROUP = 0.78;
/** Bars that are far apart are hard to compare: the most room between groups, and what the axis takes at least. */
const WIDEST_SPACE = 90;
const NARROWEST = 360;
/** Between the names of groups beneath them. */
const NAME_SPACE = 10;
/** The height of the values beneath upright bars. */
const VALUE = 16;

export function bars(data: Bars, frame: Frame): Drawing {
  const { theme } = frame;
  const isUpright = fitsUpright(data, frame.width);
  const longest = Math.max(0, ...data.categories.map((category) => textWidth(category, SMALL)));
  const left = isUpright ? LEFT : Math.min(longest + 12, frame.width * 0.45);
  const panel: Panel = {
    heading: withUnit(data.title, data.unit) + (data.asked === null ? "" : `, dashed: ${labelOf(data.asked, data.unit)} asked for`),
    legend: data.series.map(({ name }) => ({ series: name, name })),
    drawn: "areas",
    labels: 0,
    height: isUpright ? UPRIGHT_HEIGHT : data.categories.length * (data.series.length * THICKNESS + SPACE),
  };
  // Lying bars have their values at their ends, beyond the longest of them.
  const right = isUpright ? Math.max(RIGHT, frame.width - left - widest(data)) : widestLabel(data) + 12;
  const layout = stack([panel], frame, { left, right }, isUpright ? 28 + VALUE : 24);
  const scale = linearScale(extremes(data), data.unit, isUpright ? 6 : Math.max(3, Math.floor((frame.width - left - right) / 80)));
  const readout = barsReadout(data, theme);

  const groups: Axis = {
    type: "category",
    data: data.categories.map((category) => squeezed(category, SMALL, isUpright ? Infinity : left - 10)),
    axisLine: { show: true, lineStyle: { color: theme.axis } },
    axisTick: { show: false },
    axisLabel: { color: theme.text, fontFamily: FONT, fontSize: SMALL, interval: 0, ...(isUpright ? { margin: VALUE + 8 } : {}) },
  };
  const values = valueAxis(0, scale, data.unit, false, theme);
  const room = isUpright ? (frame.width - left - right) / Math.max(1, data.categories.length) : data.series.length * THICKNESS + SPACE;
  // A value has room beneath its bar.
  const thickest = Math.max(THICKEST, widestLabel(data) + 2);
  const thickness = Math.min(thickest, (room * GROUP) / Math.max(1, data.series.length));
  const option: Option = {
    animation: false,
    title: layout.titles,
    legend: layout.legends,
    grid: layout.grids,
    ...(isUpright ? { xAxis: groups, yAxis: values } : { xAxis: values, yAxis: { ...groups, inverse: true } }),
    series: [
      ...data.series.map((series, index) => barSeries(series, index, thickness, theme)),
      ...data.series.map((series, index) => ends(series, index, data, thickness, isUpright, theme)),
      asked(data, isUpright, theme),
    ],
    ...tooltip(frame, "axis", readout),
  };
  return { option, height: layout.height, readout };
}

function fitsUpright(data: Bars, width: number): boolean {
  const room = (width - LEFT - RIGHT) / Math.max(1, data.categories.length);
  const namesFit = data.categories.every((category) => textWidth(category, SMALL) + NAME_SPACE <= room);
  const valuesFit = (widestLabel(data) + 2) * data.series.length <= room * GROUP;
  return namesFit && valuesFit;
}

/** How wide the panel of upright bars may become. */
function widest(data: Bars): number {
  const names = data.categories.map((category) => textWidth(category, SMALL) + NAME_SPACE);
  const count = data.series.length;
  return Math.max(NARROWEST, data.categories.length * Math.max(count * THICKEST + WIDEST_SPACE, (count * (widestLabel(data) + 2)) / GROUP, ...names));
}

function widestLabel(data: Bars): number {
  return Math.max(0, ...data.series.flatMap(({ values }) => values.map((value) => textWidth(labelOf(value, data.unit), SMALL))));
}

function labelOf(value: number | null, unit: string): string {
  return value === null ? "" : carriesUnit(unit) ? quantity(value, unit) : number(value);
}

function* extremes(data: Bars): Generator<number> {
  yield* data.reach ?? [];
  if (data.asked !== null) yield data.asked;
  for (const { values, low, high } of data.series) {
    for (const value of [...values, ...low, ...high]) if (value !== null) yield value;
  }
}

function barSeries(series: BarSeries, index: number, thickness: number, theme: Theme): BarSeriesOption {
  const { color } = seriesLook(theme, index);
  return {
    type: "bar",
    name: series.name,
    data: series.values.map((value) => value ?? "-"),
    barWidth: thickness,
    barGap: "0%",
    color,
    itemStyle: { color, borderColor: theme.background, borderWidth: 1, ...pattern(theme, index) },
    emphasis: { disabled: true },
  };
}

/** The interval of each bar, and its value: at the foot of an upright bar, where no whisker is taken for it. */
function ends(series: BarSeries, index: number, data: Bars, thickness: number, isUpright: boolean, theme: Theme): CustomSeriesOption {
  return painter({ id: `ends-${index}`, panel: 0, z: 3, clip: false, name: series.name }, (panelArea) =>
    series.values.flatMap((value, category): Shape[] => {
      if (value === null) return [];
      const [low, high] = [series.low[category] ?? null, series.high[category] ?? null];
      const across = (index - (data.series.length - 1) / 2) * thickness;
      const middle = (isUpright ? panelArea.atX(category) : panelArea.atY(category)) + across;
      const along = isUpright ? panelArea.atY : panelArea.atX;
      // A point by its place across and along the bars.
      const at = (side: number, length: number) => (isUpright ? [middle + side, length] : [length, middle + side]);
      const beyond = along(Math.max(value, high ?? value, 0));
      const label = isUpright
        ? text(middle, panelArea.y + panelArea.height + VALUE / 2 + 2, labelOf(value, data.unit), theme.text, "center")
        : text(beyond + 6, middle, labelOf(value, data.unit), theme.text, "left", "middle", SMALL, "normal", theme.background);
      if (low === null || high === null) return [label];
      const [from, to] = [along(low), along(high)];
      const cap = Math.min(5, thickness / 4);
      const strokes = [
        [at(0, from), at(0, to)],
        [at(-cap, from), at(cap, from)],
        [at(-cap, to), at(cap, to)],
      ];
      // Half of it stands on the bar, half beyond: only an edge makes it seen on both.
      const edges = strokes.map((points) => line(points, theme.background, 4));
      return [...edges, ...strokes.map((points) => line(points, theme.text, 1.25)), label];
    }),
  );
}

/** A line across all bars at what schedules asked for; the heading says so. */
function asked({ asked }: Bars, isUpright: boolean, theme: Theme): CustomSeriesOption {
  return painter({ id: "asked", panel: 0, z: 2, clip: false }, ({ x, y, width, height, atX, atY }) => {
    if (asked === null) return [];
    const at = isUpright ? atY(asked) : atX(asked);
    return [line(isUpright ? [[x, at], [x + width, at]] : [[at, y], [at, y + height]], theme.text, 1, [5, 3])];
  });
}

function barsReadout(data: Bars, theme: Theme): Readout {
  return ({ dataIndex }) => {
    const category = data.categories[dataIndex];
    if (category === undefined) return undefined;
    const lines = data.series.flatMap((series, index) => {
      const value = series.values[dataIndex] ?? null;
      if (value === null) return [];
      const [low, high] = [series.low[dataIndex] ?? null, series.high[dataIndex] ?? null];
      const interval = low === null || high === null ? "" : ` (${quantity(low, data.unit)} to ${quantity(high, data.unit)})`;
      return [{ name: series.name, value: quantity(value, data.unit) + interval, color: seriesLook(theme, index).color }];
    });
    return { heading: category, lines };
  };
}
