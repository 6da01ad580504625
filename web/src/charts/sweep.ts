// Values over a factor with numbers as levels: a panel per measure, a line per system or setting.

import type { Sweep, SweepLine, SweepPanel, SweepPoint } from "../model";
import { valueAxis } from "./axes";
import type { CustomSeriesOption, LineSeriesOption, Option, Axis } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { tooltip } from "./interaction";
import { FONT, seriesLook, SMALL, type Theme } from "./look";
import { line, painter, ring, text, type Area, type Shape } from "./painter";
import { stack, withUnit, type Panel } from "./panels";
import type { Readout } from "./readout";
import { BOLD, textWidth } from "./text";
import { linearScale, logScale, number, quantity, tickLabel } from "./units";

const FIRST_PANEL = 250;
const PANEL = 170;
const LEFT = 72;
const RIGHT = 24;
const BELOW = 40;
/** The radius of the ring around a knee, and the height of its label. */
const RING = 8;
const LABEL = 14;

export function sweep(data: Sweep, frame: Frame): Drawing {
  const { theme } = frame;
  const names = [...new Set(data.panels.flatMap((panel) => panel.lines.map(({ name }) => name)))];
  const panels = data.panels.map((panel, index): Panel => ({
    heading: withUnit(panel.title, panel.unit, panel.log),
    // A line looks the same in every panel, so one legend does.
    legend: index === 0 ? names.map((name) => ({ series: name, name })) : [],
    drawn: "points",
    labels: 0,
    height: index === 0 ? FIRST_PANEL : PANEL,
  }));
  const layout = stack(panels, frame, { left: LEFT, right: RIGHT }, BELOW);
  const readout = sweepReadout(data, names, theme);
  const option: Option = {
    animation: false,
    title: layout.titles,
    legend: layout.legends,
    grid: layout.grids,
    xAxis: data.panels.map((_, index) => factorAxis(data, index, frame)),
    yAxis: data.panels.map((panel, index) => {
      const scale = (panel.log ? logScale : linearScale)(extremes(panel), panel.unit, index === 0 ? 6 : panel.log ? 5 : 4);
      return valueAxis(index, scale, panel.unit, panel.log, theme);
    }),
    series: [
      ...data.panels.flatMap((panel, index) =>
        panel.lines.flatMap((of, place) => {
          const look = seriesLook(theme, names.indexOf(of.name));
          return [lineSeries(of, panel, index, look), whiskers(of, `${index}-${place}`, index, look.color)];
        }),
      ),
      ...data.panels.map((panel, index) => knees(panel, index, names, theme)),
    ],
    ...(frame.interactive ? { axisPointer: { link: [{ xAxisIndex: "all" }] } } : {}),
    ...tooltip(frame, "axis", readout),
  };
  return { option, height: layout.height, readout };
}

/** The levels of all lines, ascending. */
function levelsOf(data: Sweep): number[] {
  const levels = data.panels.flatMap((panel) => panel.lines.flatMap((of) => of.points.map(({ level }) => level)));
  return [...new Set(levels)].sort((one, other) => one - other);
}

function factorAxis(data: Sweep, index: number, frame: Frame): Axis {
  const { theme } = frame;
  const levels = levelsOf(data);
  const [first, last] = [levels[0] ?? 0, levels[levels.length - 1] ?? 1];
  const isLog = data.log && first > 0;
  const padding = isLog ? Math.max(1.02, (last / first) ** 0.03) : 0.03 * (last - first) || 1;
  const [min, max] = isLog ? [first / padding, last * padding] : [first - padding, last + padding];
  const place = (level: number) =>
    isLog ? Math.log(level / min) / Math.log(max / min) : (level - min) / (max - min);
  const isLast = index === data.panels.length - 1;
  const ticks = ticksWithRoom(levels, (level) => place(level) * (frame.width - LEFT - RIGHT));
  return {
    type: isLog ? "log" : "value",
    gridIndex: index,
    min,
    max,
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.axis } },
    axisTick: { show: isLast, customValues: ticks, lineStyle: { color: theme.axis } },
    axisLabel: {
      show: isLast,
      customValues: ticks,
      color: theme.muted,
      fontFamily: FONT,
      fontSize: SMALL,
      formatter: (level: number) => tickLabel(level, ""),
    },
    splitLine: { show: false },
    minorTick: { show: false },
    axisPointer: { snap: true, lineStyle: { color: theme.muted, width: 1 }, label: { show: false } },
    ...(isLast
      ? { name: withUnit(data.factor, "", isLog), nameLocation: "middle", nameGap: 24, nameTextStyle: { color: theme.muted, fontFamily: FONT, fontSize: SMALL } }
      : {}),
  };
}

/** The levels whose labels do not touch; the last one always. */
function ticksWithRoom(levels: number[], place: (level: number) => number): number[] {
  const half = (level: number) => textWidth(tickLabel(level, ""), SMALL) / 2 + 4;
  const kept: number[] = [];
  for (const level of [...levels].reverse()) {
    const after = kept[kept.length - 1];
    if (after === undefined || place(after) - half(after) >= place(level) + half(level)) kept.push(level);
  }
  return kept.reverse();
}

function* extremes(panel: SweepPanel): Generator<number> {
  yield* panel.reach ?? [];
  for (const { points } of panel.lines) {
    for (const { value, low, high } of points) {
      yield value;
      if (low !== null) yield low;
      if (high !== null) yield high;
    }
  }
}

function lineSeries(of: SweepLine, panel: SweepPanel, index: number, look: ReturnType<typeof seriesLook>): LineSeriesOption {
  return {
    type: "line",
    name: of.name,
    xAxisIndex: index,
    yAxisIndex: index,
    data: of.points.map(({ level, value }) => [level, panel.log && value <= 0 ? null : value]),
    symbol: look.symbol,
    symbolSize: 7,
    showAllSymbol: true,
    color: look.color,
    lineStyle: { color: look.color, width: 2, type: look.dash },
    emphasis: { disabled: true },
  };
}

/** The interval of each point. */
function whiskers(of: SweepLine, id: string, index: number, color: string): CustomSeriesOption {
  return painter({ id: `whiskers-${id}`, panel: index, z: 2, clip: true, name: of.name }, ({ atX, atY }) =>
    of.points.flatMap(({ level, low, high }): Shape[] => {
      if (low === null || high === null) return [];
      const [x, from, to] = [atX(level), atY(low), atY(high)];
      return [
        line([[x, from], [x, to]], color, 1.5),
        line([[x - 4, from], [x + 4, from]], color, 1.5),
        line([[x - 4, to], [x + 4, to]], color, 1.5),
      ];
    }),
  );
}

/** Rings around the knees, and clear of all lines their levels: once, because lines often have the same. */
function knees(panel: SweepPanel, index: number, names: string[], theme: Theme): CustomSeriesOption {
  return painter({ id: `knees-${index}`, panel: index, z: 4, clip: false }, (panelArea) => {
    const levels = new Set<number>();
    const rings = panel.lines.flatMap((of): Shape[] => {
      const point = of.points.find(({ level }) => level === of.knee);
      if (point === undefined) return [];
      levels.add(point.level);
      return [ring(panelArea.atX(point.level), panelArea.atY(point.value), RING, seriesLook(theme, names.indexOf(of.name)).color)];
    });
    const taken: Box[] = [];
    const labels = [...levels].map((level): Shape => {
      const points = panel.lines.flatMap(({ points }) => points.filter((point) => point.level === level));
      const label = `knee at ${number(level)}`;
      const { x, y } = freePlace(level, points, textWidth(label, SMALL * BOLD), panelArea, taken);
      return text(x, y, label, theme.text, "left", "middle", SMALL, "bold", theme.background);
    });
    return [...rings, ...labels];
  });
}

interface Box {
  x: number;
  y: number;
  width: number;
}

/** A place for a label above the points of a level, or beneath them where there is no room; and not over another label. */
function freePlace(level: number, points: SweepPoint[], width: number, within: Area, taken: Box[]): Box {
  const highest = Math.min(...points.map(({ value, high }) => within.atY(high ?? value)), ...points.map(({ value }) => within.atY(value) - RING));
  const lowest = Math.max(...points.map(({ value, low }) => within.atY(low ?? value)), ...points.map(({ value }) => within.atY(value) + RING));
  const x = Math.max(within.x, Math.min(within.atX(level) - width / 2, within.x + within.width - width));
  const isAbove = highest - LABEL >= within.y;
  let y = isAbove ? highest - LABEL / 2 - 2 : lowest + LABEL / 2 + 2;
  const isTaken = (box: Box) => x < box.x + box.width && x + width > box.x && Math.abs(y - box.y) < LABEL;
  while (taken.some(isTaken)) y += isAbove ? -LABEL : LABEL;
  const box = { x, y, width };
  taken.push(box);
  return box;
}

function sweepReadout(data: Sweep, names: string[], theme: Theme): Readout {
  return ({ axisValue }) => {
    const level = Number(axisValue);
    if (!Number.isFinite(level)) return undefined;
    const lines = data.panels.flatMap((panel) => {
      const values = panel.lines.flatMap((of) => {
        const point = of.points.find((one) => Math.abs(one.level - level) <= 1e-9 * Math.abs(level));
        if (point === undefined) return [];
        const interval =
          point.low === null || point.high === null ? "" : ` (${quantity(point.low, panel.unit)} to ${quantity(point.high, panel.unit)})`;
        const { color } = seriesLook(theme, names.indexOf(of.name));
        return [{ name: of.name, value: quantity(point.value, panel.unit) + interval, color }];
      });
      return values.length === 0 ? [] : [{ name: panel.title }, ...values];
    });
    return { heading: `${data.factor} = ${number(level)}`, lines };
  };
}
