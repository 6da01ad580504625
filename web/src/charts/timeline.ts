// Values over time: panels above each other over one axis, with what happened in a panel of its own.

import type { Lane, Series, Timeline } from "../model";
import { gutter, RIGHT, TIME_BELOW, timeAxis, valueAxis } from "./axes";
import { conclusions } from "./conclusions";
import { band, checkpoints, eventRows, events, shades, spanLabels, LABEL_ROW, type EventRow } from "./timemarks";
import type { LineSeriesOption, Option, SeriesOption, Axis } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { SLIDER, timeZoom, tooltip } from "./interaction";
import { FONT, pattern, SMALL, timelineLook, type Theme } from "./look";
import { sharedNames } from "./names";
import { stack, withUnit, type Panel } from "./panels";
import { thinned } from "./thinning";
import { timelineReadout } from "./timereadout";
import { linearScale, logScale } from "./units";

const FIRST_LANE = 190;
const LANE = 130;
const EVENT_ROW = 17;

export function timeline(data: Timeline, frame: Frame): Drawing {
  const { theme } = frame;
  const rows = eventRows(data.marks);
  const labelRows = Math.min(2, data.spans.filter((span) => span.label !== "").length);
  const names = sharedNames(data);
  const panels = data.lanes.map((lane, index): Panel => ({
    heading: withUnit(lane.title, lane.unit, lane.log),
    legend: lane.series.map((series) => ({ series: seriesName(lane, series), name: series.name })),
    isOneOfMany: names[index]!.length > 1,
    drawn: lane.stacked ? "areas" : "lines",
    labels: index === 0 ? labelRows * LABEL_ROW : 0,
    height: index === 0 ? FIRST_LANE : LANE,
  }));
  if (rows.length > 0) panels.push({ heading: "Events", legend: [], drawn: "lines", labels: 0, height: rows.length * EVENT_ROW });

  const margin = { left: gutter(frame.width), right: RIGHT };
  const layout = stack(panels, frame, margin, TIME_BELOW + (frame.interactive ? SLIDER : 0));
  const end_s = Math.max(data.end_s, data.start_s + 1);
  const readout = timelineReadout(data, theme);

  const option: Option = {
    animation: false,
    useUTC: true,
    title: layout.titles,
    legend: layout.legends,
    grid: layout.grids,
    xAxis: panels.map((_, index) => timeAxis(index, data.start_s, end_s, index === panels.length - 1, theme)),
    yAxis: [
      ...data.lanes.map((lane, index) => laneAxis(lane, index, theme)),
      ...(rows.length > 0 ? [eventAxis(data.lanes.length, rows, frame)] : []),
    ],
    series: [
      // Behind lines, but before areas, which would hide them.
      ...panels.map((_, index) => shades(index, data.spans, data.lanes[index]?.stacked ? 3 : 0, theme)),
      ...data.lanes.flatMap((lane, index) => laneSeries(frame.interactive ? lane : thinned(lane, frame.width), index, names[index]!, theme)),
      ...data.lanes.map((lane, index) => conclusions(index, lane, names[index]!, theme)),
      ...data.lanes.map((_, index) => checkpoints(index, data.marks, theme)),
      ...(data.lanes.length > 0 && labelRows > 0 ? [spanLabels(data.spans, labelRows, theme)] : []),
      ...(rows.length > 0 ? events(data.lanes.length, rows, theme) : []),
    ],
    ...tooltip(frame, "axis", readout),
    ...timeZoom(frame, panels.length, margin.left, margin.right),
  };
  return { option, height: layout.height, readout, time: { group: data.group, start_s: data.start_s, end_s, top: layout.top } };
}

/** What a series is called in ECharts: two lanes may have series of one name. */
export function seriesName(lane: Lane, series: Series): string {
  return `${lane.id}/${series.name}`;
}

/** The points of a series, in the middles of its steps; `null` where it has none, and above zero only where the axis is logarithmic. */
export function points(series: Series, values: (number | null)[], log: boolean): [number, number | null][] {
  return values.map((value, index) => {
    const middle_s = series.first_s + (index + 0.5) * series.step_s;
    return [Math.round(middle_s * 1000), value === null || (log && value <= 0) ? null : value];
  });
}

function laneAxis(lane: Lane, index: number, theme: Theme): Axis {
  const values = laneExtremes(lane);
  const scale = lane.log ? logScale(values, lane.unit, index === 0 ? 7 : 5) : linearScale(values, lane.unit, index === 0 ? 5 : 4);
  return valueAxis(index, scale, lane.unit, lane.log, theme);
}

function* laneExtremes(lane: Lane): Generator<number> {
  yield* lane.reach ?? [];
  if (lane.stacked) {
    const totals = new Map<number, number>();
    for (const series of lane.series) {
      for (const [x, value] of points(series, series.mean, false)) totals.set(x, (totals.get(x) ?? 0) + (value ?? 0));
    }
    yield* totals.values();
    return;
  }
  for (const series of lane.series) {
    for (const values of [series.mean, series.min, series.max]) {
      for (const value of values) if (value !== null) yield value;
    }
  }
}

/**
 * The lines of a panel.
 *
 * Where a pixel holds many points, ECharts draws the least and the greatest of them (`sampling: "minmax"`). Not of stacked areas, whose layers would
 * take their points from different times; and not of series with gaps, beside which it may lose some. Those have all their points drawn.
 */
function laneSeries(lane: Lane, panel: number, names: string[], theme: Theme): SeriesOption[] {
  return lane.series.flatMap((series) => {
    const place = names.indexOf(series.name);
    const { color, dash, width } = timelineLook(theme, place, series.role);
    const name = seriesName(lane, series);
    const line: LineSeriesOption = {
      type: "line",
      id: name,
      name,
      xAxisIndex: panel,
      yAxisIndex: panel,
      data: withLonePoints(points(series, series.mean, lane.log)),
      symbol: "none",
      showAllSymbol: true,
      connectNulls: false,
      animation: false,
      color,
      lineStyle: { color, width: lane.stacked ? 0.5 : width, type: lane.stacked ? "solid" : dash },
      emphasis: { disabled: true },
      ...(lane.stacked ? { stack: lane.id, areaStyle: { color, opacity: 0.85 }, itemStyle: { color, ...pattern(theme, place) } } : {}),
      ...(lane.stacked || series.mean.includes(null) ? {} : { sampling: "minmax" }),
    };
    const drawn: SeriesOption[] = [line];
    if (series.min.length > 0 && series.max.length > 0) drawn.push(band(panel, name, series, lane.log, color));
    return drawn;
  });
}

/** Shows points with nothing beside them, through which no line goes. */
function withLonePoints(values: [number, number | null][]): NonNullable<LineSeriesOption["data"]> {
  return values.map((point, index) => {
    const isLone = point[1] !== null && (values[index - 1]?.[1] ?? null) === null && (values[index + 1]?.[1] ?? null) === null;
    return isLone ? { value: point, symbol: "circle", symbolSize: 4 } : point;
  });
}

function eventAxis(panel: number, rows: EventRow[], frame: Frame): Axis {
  return {
    type: "value",
    gridIndex: panel,
    inverse: true,
    min: 0,
    max: rows.length,
    axisLine: { show: false },
    axisTick: { show: false },
    axisLabel: {
      customValues: rows.map((_, index) => index + 0.5),
      color: frame.theme.muted,
      fontFamily: FONT,
      fontSize: SMALL,
      formatter: (place: number) => {
        const row = rows[Math.floor(place)];
        return (frame.width < 600 ? row?.short : row?.name) ?? "";
      },
    },
    splitLine: { show: false },
    axisPointer: { show: false },
  };
}
