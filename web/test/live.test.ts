import assert from "node:assert/strict";
import { test } from "node:test";

import { apply } from "../src/live/apply";
import type { Change } from "../src/live/messages";
import type { Figure, Series, Timeline } from "../src/model";

function series(mean: (number | null)[], bounds = false): Series {
  return { name: "update", role: "course", first_s: 0, step_s: 1, mean, min: bounds ? [...mean] : [], max: bounds ? [...mean] : [] };
}

function figure(id: string, lines: Series[]): Figure {
  const lane = { id: "tps", title: "Throughput", unit: "TPS", log: false, stacked: false, reach: null, series: lines };
  const timeline: Timeline = { group: "001-rep1", start_s: 0, end_s: 3, lanes: [lane], spans: [], marks: [], names: [] };
  return { id, title: id, caption: "", data: { kind: "timeline", ...timeline }, table: null };
}

const growth: Change = {
  change: "grown",
  id: "throughput",
  caption: "more",
  end_s: 5,
  series: [{ lane: 0, series: 0, kept: 2, mean: [7, null, 9], min: [6, null, 8], max: [8, null, 10] }],
  spans: [{ kind: "dip", start_s: 1, end_s: 2, label: "lock", weight: 60 }],
  marks_kept: 0,
  marks: [{ kind: "note", start_s: 1, end_s: null, label: "<b>" }],
};

test("a timeline grows at its end", () => {
  const figures = new Map([["throughput", figure("throughput", [series([1, 2, 3], true)])]]);
  const [changed] = apply(figures, [growth]);
  assert.equal(changed, figures.get("throughput"));
  assert.equal(changed?.caption, "more");
  const data = changed?.data;
  assert.ok(data?.kind === "timeline");
  assert.deepEqual(data.lanes[0]?.series[0]?.mean, [1, 2, 7, null, 9]);
  assert.deepEqual(data.lanes[0]?.series[0]?.max, [1, 2, 8, null, 10]);
  assert.deepEqual([data.end_s, data.spans.length, data.marks.length], [5, 1, 1]);
});

test("the same change again only replaces", () => {
  const figures = new Map([["throughput", figure("throughput", [series([1, 2, 3], true)])]]);
  apply(figures, [growth]);
  const once = JSON.stringify(figures.get("throughput"));
  apply(figures, [growth]);
  assert.equal(JSON.stringify(figures.get("throughput")), once);
});

test("a whole figure takes the place of the one that was there, or is added", () => {
  const figures = new Map([["throughput", figure("throughput", [series([1])])]]);
  const changed = apply(figures, [
    { change: "whole", figure: figure("throughput", []) },
    { change: "whole", figure: figure("waits", []) },
  ]);
  assert.deepEqual([...figures.keys()], ["throughput", "waits"]);
  assert.equal(changed.length, 2);
});

test("growth of an unknown figure is passed over", () => {
  assert.deepEqual(apply(new Map(), [growth]), []);
});
