// Keeps figures up to date.

import type { Figure } from "../model";
import type { Change, Growth } from "./messages";

/** Applies changes to the figures, by their ids and in the order in which they are shown. Gives back those that have changed. */
export function apply(figures: Map<string, Figure>, changes: readonly Change[]): Figure[] {
  const changed: Figure[] = [];
  for (const change of changes) {
    if (change.change === "whole") {
      figures.set(change.figure.id, change.figure);
      changed.push(change.figure);
      continue;
    }
    const figure = figures.get(change.id);
    if (figure === undefined) continue;
    grow(figure, change);
    changed.push(figure);
  }
  return changed;
}

function grow(figure: Figure, growth: Growth): void {
  const timeline = figure.data;
  if (timeline.kind !== "timeline") return;
  figure.caption = growth.caption;
  timeline.end_s = growth.end_s;
  timeline.spans = growth.spans;
  replaceEnd(timeline.marks, growth.marks_kept, growth.marks);
  for (const { lane, series, kept, mean, min, max } of growth.series) {
    const grown = timeline.lanes[lane]?.series[series];
    if (grown === undefined) continue;
    replaceEnd(grown.mean, kept, mean);
    replaceEnd(grown.min, kept, min);
    replaceEnd(grown.max, kept, max);
  }
}

function replaceEnd<T>(values: T[], kept: number, end: readonly T[]): void {
  if (values.length > kept) values.length = kept;
  for (const value of end) values.push(value);
}
