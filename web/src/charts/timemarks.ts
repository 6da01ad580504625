// What is drawn over values of a timeline: bands, shades of stretches of time, and what happened.

import type { Mark, MarkKind, Series, Span } from "../model";
import type { CustomSeriesOption, LineSeriesOption, SeriesOption } from "./echarts";
import { SMALL, type Theme } from "./look";
import { area, line, painter, rect, text, tiles, type Area, type Shape, type Tile } from "./painter";
import { cut, textWidth } from "./text";

/** The height of a row of labels of spans. */
export const LABEL_ROW = 15;
/** More labels say less: of hundreds of dips those of the deepest do. */
const MOST_LABELS = 8;
/** How far apart lines of checkpoints must be in the mean, in pixels. */
const CHECKPOINT_ROOM = 12;

/** The range of a series in each step, behind its line. */
export function band(panel: number, name: string, series: Series, log: boolean, color: string): CustomSeriesOption {
  return painter({ id: `${name}/band`, panel, z: 1, clip: true, name }, (panelArea) =>
    stretches(series, panelArea, log).map((steps) => {
      // A single step has a range, but no width.
      const [only] = steps;
      if (steps.length === 1 && only) return line([[only.x, panelArea.atY(only.min)], [only.x, panelArea.atY(only.max)]], color, 1.5);
      const low = steps.map(({ x, min }) => [x, panelArea.atY(min)]);
      const high = steps.map(({ x, max }) => [x, panelArea.atY(max)]);
      return area([...low, ...high.reverse()], color, 0.22);
    }),
  );
}

interface Range {
  x: number;
  min: number;
  max: number;
}

/** The ranges that are in sight, without gaps in each stretch, and of all in one pixel the least and the greatest. */
function stretches(series: Series, { x: left, width, atX }: Area, log: boolean): Range[][] {
  const all: Range[][] = [];
  let stretch: Range[] = [];
  for (let index = 0; index < series.min.length; index++) {
    const x = Math.round(atX((series.first_s + (index + 0.5) * series.step_s) * 1000));
    const [min, max] = [series.min[index] ?? null, series.max[index] ?? null];
    if (min === null || max === null || (log && min <= 0)) {
      if (stretch.length > 0) all.push(stretch);
      stretch = [];
    } else if (x >= left - width && x <= left + 2 * width) {
      const last = stretch[stretch.length - 1];
      if (last?.x === x) {
        last.min = Math.min(last.min, min);
        last.max = Math.max(last.max, max);
      } else {
        stretch.push({ x, min, max });
      }
    }
  }
  return stretch.length > 0 ? [...all, stretch] : all;
}

/** Shades of stretches of time, over a whole panel; a dip also has a bar above it, to be seen without colour. */
export function shades(panel: number, spans: Span[], z: number, theme: Theme): CustomSeriesOption {
  return painter({ id: `shades-${panel}`, panel, z, clip: true }, ({ y, height, ...across }) =>
    spans.flatMap((span, index): Shape[] => {
      const [from, to] = ends(span.start_s, span.end_s, across);
      if (to < from) return [];
      // Stages follow each other: every second one is shaded.
      if (span.kind === "stage" && spans.slice(0, index).filter(({ kind }) => kind === "stage").length % 2 === 1) return [];
      const shade = rect(from, y, Math.max(1, to - from), height, theme.spans[span.kind]);
      return span.kind === "dip" ? [shade, rect(from, y, Math.max(2, to - from), 3, theme.dip)] : [shade];
    }),
  );
}

/** Labels of the weightiest stretches of time in sight, above the first panel; the others are told when pointed at. */
export function spanLabels(spans: Span[], rows: number, theme: Theme): CustomSeriesOption {
  return painter({ id: "span-labels", panel: 0, z: 5, clip: false }, (panelArea) => {
    const { x: left, y, width } = panelArea;
    const taken: { start: number; end: number }[][] = Array.from({ length: rows }, () => []);
    const inSight = spans
      .map((span) => ({ span, ends: ends(span.start_s, span.end_s, panelArea) }))
      .filter(({ span, ends: [from, to] }) => span.label !== "" && to >= from)
      .sort((one, other) => other.span.weight - one.span.weight || one.span.start_s - other.span.start_s);
    return inSight.slice(0, MOST_LABELS).flatMap(({ span, ends: [from] }): Shape[] => {
      const label = cut(span.label, SMALL, Math.min(width, 280));
      const needed = textWidth(label, SMALL);
      const start = Math.max(left, Math.min(from, left + width - needed));
      const place = { start: start - 8, end: start + needed };
      const row = taken.findIndex((others) => others.every((other) => place.end < other.start || place.start > other.end));
      if (row < 0) return [];
      taken[row]!.push(place);
      const top = y - (row + 1) * LABEL_ROW;
      const color = span.kind === "dip" ? theme.dip : theme.muted;
      return [text(start, top + LABEL_ROW / 2 - 1, label, color)];
    });
  });
}

/** Thin lines at the beginning of each checkpoint, unless they are too many to tell apart. */
export function checkpoints(panel: number, marks: Mark[], theme: Theme): CustomSeriesOption {
  const instants = marks.filter(({ kind }) => kind === "timed_checkpoint" || kind === "requested_checkpoint");
  return painter({ id: `checkpoints-${panel}`, panel, z: 3, clip: true }, ({ x: left, y, width, height, atX }) => {
    const inSight = instants
      .map((mark) => ({ x: Math.round(atX(mark.start_s * 1000)) + 0.5, dash: mark.kind === "timed_checkpoint" ? [1, 3] : [4, 3] }))
      .filter(({ x }) => x >= left && x <= left + width);
    if (inSight.length * CHECKPOINT_ROOM > width) return [];
    return inSight.map(({ x, dash }) => line([[x, y], [x, y + height]], theme.instant, 1, dash));
  });
}

/** A row of the panel of events: one kind. */
export interface EventRow {
  kind: MarkKind;
  name: string;
  /** On narrow screens. */
  short: string;
  marks: Mark[];
}

const KINDS: readonly [MarkKind, string, string][] = [
  ["timed_checkpoint", "timed checkpoint", "timed ckpt"],
  ["requested_checkpoint", "req. checkpoint", "req. ckpt"],
  ["vacuum", "vacuum", "vacuum"],
  ["blocked", "blocked by a lock", "blocked"],
  ["stalled", "stalled", "stalled"],
  ["errors", "errors", "errors"],
  ["note", "notes", "notes"],
];

/** The kinds that happened, from top to bottom. */
export function eventRows(marks: Mark[]): EventRow[] {
  return KINDS.map(([kind, name, short]) => ({ kind, name, short, marks: marks.filter((mark) => mark.kind === kind) })).filter(
    (row) => row.marks.length > 0,
  );
}

/** Bars from the beginning to the end of each event, in a row per kind; and their beginnings as data. */
export function events(panel: number, rows: EventRow[], theme: Theme): SeriesOption[] {
  const bars = painter({ id: "events", panel, z: 2, clip: true }, ({ y, height, ...across }) => {
    const row = height / rows.length;
    return rows.flatMap(({ kind, marks }, index): Shape[] => {
      const bottom = y + (index + 1) * row;
      const color = kind === "errors" || kind === "stalled" ? theme.dip : theme.series[0]!;
      const inSight = marks
        .map((mark) => ends(mark.start_s, mark.end_s ?? mark.start_s, across))
        .filter(([from, to]) => to >= from)
        .map(([from, to]): Tile => [from, bottom - row + 4, Math.max(2, to - from), row - 8]);
      return [line([[across.x, bottom], [across.x + across.width, bottom]], theme.grid), tiles(inSight, color)];
    });
  });
  const places: LineSeriesOption = {
    type: "line",
    id: "event-places",
    xAxisIndex: panel,
    yAxisIndex: panel,
    data: rows.flatMap((row, index) => row.marks.map((mark): [number, number] => [mark.start_s * 1000, index + 0.5])),
    symbol: "none",
    silent: true,
    tooltip: { show: false },
    lineStyle: { width: 0, opacity: 0 },
  };
  return [bars, places];
}

/** The part of a stretch of time that is in sight, in pixels; the end is before the beginning if none is. */
function ends(start_s: number, end_s: number, { x, width, atX }: Pick<Area, "x" | "width" | "atX">): [number, number] {
  return [Math.max(x - 4, atX(start_s * 1000)), Math.min(x + width + 4, atX(end_s * 1000))];
}
