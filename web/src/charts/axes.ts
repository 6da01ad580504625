// Axes, alike in all figures.

import type { Axis } from "./echarts";
import { FONT, SMALL, type Theme } from "./look";
import { clock, tickLabel, type Scale } from "./units";

/** Room left of figures over time, the same in all, so that what is at the same time is above each other. */
export function gutter(width: number): number {
  return width < 600 ? 76 : 108;
}

/** Room right of figures over time: half of the last label of the axis. */
export const RIGHT = 28;

/** Room beneath the last panel for the labels of the time axis and what they are. */
export const TIME_BELOW = 40;

/** A vertical axis of values. */
export function valueAxis(panel: number, scale: Scale, unit: string, log: boolean, theme: Theme): Axis {
  return {
    type: log ? "log" : "value",
    gridIndex: panel,
    min: scale.min,
    max: scale.max,
    axisLine: { show: false },
    axisTick: { show: false, customValues: scale.ticks },
    axisLabel: {
      customValues: scale.ticks,
      color: theme.muted,
      fontFamily: FONT,
      fontSize: SMALL,
      formatter: (value: number) => tickLabel(value, unit, scale.max),
    },
    splitLine: { show: true, lineStyle: { color: theme.grid, width: 1 } },
    minorTick: { show: false },
    minorSplitLine: { show: false },
    axisPointer: { show: false },
  };
}

/** A horizontal axis of time. ECharts' own axis of time, in milliseconds, because its ticks stay sensible at any zoom. */
export function timeAxis(panel: number, start_s: number, end_s: number, isLast: boolean, theme: Theme): Axis {
  return {
    type: "time",
    gridIndex: panel,
    min: start_s * 1000,
    max: end_s * 1000,
    // Labels have tenths of a second.
    minInterval: 100,
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.axis } },
    axisTick: { show: isLast, lineStyle: { color: theme.axis } },
    axisLabel: {
      show: isLast,
      color: theme.muted,
      fontFamily: FONT,
      fontSize: SMALL,
      hideOverlap: true,
      formatter: (ms: number) => clock(ms / 1000),
    },
    splitLine: { show: false },
    axisPointer: { lineStyle: { color: theme.muted, width: 1 }, label: { show: false } },
    ...(isLast
      ? {
          name: "time since the load began (h:mm:ss)",
          nameLocation: "middle",
          nameGap: 24,
          nameTextStyle: { color: theme.muted, fontFamily: FONT, fontSize: SMALL },
        }
      : {}),
  };
}
