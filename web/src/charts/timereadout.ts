// What is told of an instant of a timeline: all values, and what was going on.

import type { Lane, Series, Timeline } from "../model";
import { timelineLook, type Theme } from "./look";
import { sharedNames } from "./names";
import type { Line, Readout } from "./readout";
import { eventRows } from "./timemarks";
import { clock, quantity } from "./units";

/** How many events are told at most. */
const MOST_EVENTS = 6;

export function timelineReadout(data: Timeline, theme: Theme): Readout {
  const kinds = eventRows(data.marks);
  const names = sharedNames(data);
  // An instant event counts as going on for as long as the finest step.
  const step_s = Math.min(...data.lanes.flatMap((lane) => lane.series.map((series) => series.step_s)), Infinity);
  const around_s = Number.isFinite(step_s) ? step_s : 1;
  return ({ axisValue }) => {
    const time_s = Number(axisValue) / 1000;
    if (!Number.isFinite(time_s)) return undefined;
    const lines: Line[] = data.lanes.flatMap((lane, index) => laneLines(lane, names[index]!, time_s, theme));
    for (const span of data.spans) {
      if (span.start_s <= time_s && time_s < span.end_s) lines.push({ name: span.label === "" ? span.kind : span.label });
    }
    const going = kinds.flatMap(({ name, marks }) =>
      marks
        .filter((mark) => mark.start_s - around_s / 2 <= time_s && time_s <= (mark.end_s ?? mark.start_s) + around_s / 2)
        .map((mark) => ({ name: mark.label === "" ? name : mark.label })),
    );
    lines.push(...going.slice(0, MOST_EVENTS));
    if (going.length > MOST_EVENTS) lines.push({ name: `and ${going.length - MOST_EVENTS} more events` });
    return { heading: clock(time_s), lines };
  };
}

function laneLines(lane: Lane, names: string[], time_s: number, theme: Theme): Line[] {
  const values = lane.series.flatMap((series): Line[] => {
    const value = valueAt(series, time_s, lane.unit);
    return value === undefined ? [] : [{ name: series.name, value, color: timelineLook(theme, names.indexOf(series.name), series.role).color }];
  });
  return values.length === 0 ? [] : [{ name: lane.title }, ...values];
}

function valueAt(series: Series, time_s: number, unit: string): string | undefined {
  const index = Math.floor((time_s - series.first_s) / series.step_s);
  const [mean, min, max] = [series.mean[index] ?? null, series.min[index] ?? null, series.max[index] ?? null];
  if (mean === null) return undefined;
  const value = quantity(mean, unit);
  return min === null || max === null || min === max ? value : `${value} (${quantity(min, unit)} to ${quantity(max, unit)})`;
}
