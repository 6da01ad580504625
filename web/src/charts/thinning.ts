// Fewer points for pictures that nobody zooms.

import type { Lane, Series } from "../model";

/**
 * A stacked lane with no more steps than pixels: in each stretch those at which the sum of the layers is least and greatest, the same of all
 * layers. Their places move by a pixel or two. Other lanes are thinned out by ECharts, which cannot do it with stacks.
 */
export function thinned(lane: Lane, width: number): Lane {
  const [first] = lane.series;
  const steps = first?.mean.length ?? 0;
  const isEven = lane.series.every(({ first_s, step_s, mean }) => first_s === first?.first_s && step_s === first.step_s && mean.length === steps);
  if (!lane.stacked || !isEven || steps <= width) return lane;
  const stretch = Math.ceil((2 * steps) / width);
  const kept: number[] = [];
  for (let from = 0; from < steps; from += stretch) kept.push(...extremes(lane.series, from, Math.min(steps, from + stretch)));
  return { ...lane, series: lane.series.map((series) => only(series, kept, stretch)) };
}

/** The steps of a stretch with the least and the greatest sum, in their order. */
function extremes(layers: Series[], from: number, to: number): [number, number] {
  let [least, greatest] = [from, from];
  let [low, high] = [Infinity, -Infinity];
  for (let step = from; step < to; step++) {
    const sum = layers.reduce((total, { mean }) => total + (mean[step] ?? 0), 0);
    if (sum < low) [least, low] = [step, sum];
    if (sum > high) [greatest, high] = [step, sum];
  }
  return [Math.min(least, greatest), Math.max(least, greatest)];
}

function only(series: Series, kept: number[], stretch: number): Series {
  return { ...series, step_s: (series.step_s * stretch) / 2, mean: kept.map((step) => series.mean[step] ?? null), min: [], max: [] };
}
