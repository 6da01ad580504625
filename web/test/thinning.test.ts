import assert from "node:assert/strict";
import { test } from "node:test";

import { thinned } from "../src/charts/thinning";
import type { Lane } from "../src/model";
import { series } from "./samples";

const STEPS = 1000;

function lane(stacked: boolean): Lane {
  const a = Array.from({ length: STEPS }, (_, step) => (step === 500 ? 90 : 10));
  const b = Array.from({ length: STEPS }, (_, step) => (step === 777 ? 0 : 5));
  return { id: "waits", title: "", unit: "", log: false, stacked, reach: null, series: [series("a", a), series("b", b)] };
}

test("the least and the greatest sum of a stack survive, at the same step in all layers", () => {
  const [a, b] = thinned(lane(true), 100).series;
  assert.equal(a!.mean.length, 100);
  const sums = a!.mean.map((value, step) => value! + b!.mean[step]!);
  assert.deepEqual([Math.max(...sums), Math.min(...sums)], [95, 10]);
  const place = a!.first_s + (sums.indexOf(95) + 0.5) * a!.step_s;
  assert.ok(Math.abs(place - 500.5) < 20, `the peak moved to ${place}`);
});

test("what is not stacked, or not much, is left as it is", () => {
  const plain = lane(false);
  assert.equal(thinned(plain, 100), plain);
  const short = lane(true);
  assert.equal(thinned(short, STEPS), short);
});
