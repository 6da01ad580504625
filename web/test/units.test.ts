import assert from "node:assert/strict";
import { test } from "node:test";

import { clock, grouped, linearScale, logScale, number, quantity, tickLabel } from "../src/charts/units";

test("numbers have their thousands apart and no digits without meaning", () => {
  assert.equal(number(0), "0");
  assert.equal(number(12_345.678), "12,346");
  // In the middle, as the tables beside a chart.
  assert.deepEqual([1234.5, 9895.5, -9894.5, 97.625, 97.375].map(number), ["1,234", "9,896", "-9,894", "97.62", "97.38"]);
  assert.equal(number(-1_234_567), "-1,234,567");
  assert.equal(number(3.14159), "3.142");
  assert.equal(number(0.00012345), "0.0001234");
  assert.equal(number(NaN), "–");
  assert.equal(grouped(1e21), "1e+21");
});

test("quantities are in the unit that suits them", () => {
  assert.equal(quantity(950, "µs"), "0.95 ms");
  assert.equal(quantity(1500, "µs"), "1.5 ms");
  assert.equal(quantity(4_370_460, "µs"), "4,370 ms");
  assert.equal(quantity(4_370.46, "ms"), "4,370 ms");
  assert.equal(quantity(0.25, "µs"), "0.00025 ms");
  assert.equal(quantity(1.5, "s"), "1.5 s");
  assert.equal(quantity(0.002, "s"), "2 ms");
  assert.equal(quantity(64 * 1024 * 1024, "bytes/s"), "64 MB/s");
  assert.equal(quantity(512, "bytes"), "512 B");
  assert.equal(quantity(12_346, "TPS"), "12,346 TPS");
  assert.equal(quantity(3, ""), "3");
});

test("times are since the load began", () => {
  assert.equal(clock(0), "0:00:00");
  assert.equal(clock(59.96), "0:01:00");
  assert.equal(clock(3_661), "1:01:01");
  assert.equal(clock(28_800), "8:00:00");
  assert.equal(clock(100_000), "27:46:40");
  assert.equal(clock(-60), "-0:01:00");
  assert.equal(clock(1.5), "0:00:01.5");
});

test("labels of ticks carry units of time and size, and are short", () => {
  assert.equal(tickLabel(20_000, "TPS"), "20,000");
  assert.equal(tickLabel(20_000_000, "TPS"), "20M");
  assert.equal(tickLabel(500_000, "TPS", 1_500_000), "0.5M");
  assert.equal(tickLabel(2000, "µs"), "2 ms");
  assert.equal(tickLabel(0, "bytes"), "0");
  assert.equal(tickLabel(0.5, "cores"), "0.5");
});

test("linear axes begin at zero, end above the values, and have round ticks", () => {
  assert.deepEqual(linearScale([27_666, 65_708], "TPS", 5), { min: 0, max: 80_000, ticks: [0, 20_000, 40_000, 60_000, 80_000] });
  assert.equal(linearScale([100.7], "%", 4).max, 100);
  assert.deepEqual(linearScale([], "%", 4), { min: 0, max: 100, ticks: [0, 25, 50, 75, 100] });
  assert.deepEqual(linearScale([0, 0], "TPS", 4), { min: 0, max: 1, ticks: [0, 1] });
  assert.deepEqual(linearScale([-3, 5], "", 4), { min: -4, max: 6, ticks: [-4, -2, 0, 2, 4, 6] });
  const mebi = 1024 * 1024;
  assert.deepEqual(linearScale([70 * mebi], "bytes/s", 4).ticks, [0, 20 * mebi, 40 * mebi, 60 * mebi, 80 * mebi]);
});

test("every value is within its axis, whatever its size", () => {
  for (let power = -9; power <= 15; power += 0.37) {
    const value = 10 ** power;
    for (const unit of ["TPS", "µs", "bytes"]) {
      const linear = linearScale([value], unit, 5);
      assert.ok(linear.max >= value && linear.max <= 2.6 * value, `${value} ${unit} on an axis to ${linear.max}`);
      assert.ok(linear.ticks.length >= 2 && linear.ticks.length <= 7, `${value} ${unit}: ${linear.ticks.length} ticks`);
      const log = logScale([value, value * 3], unit, 5);
      assert.ok(log.min <= value * (1 + 1e-9) && log.max >= value * 3 * (1 - 1e-9), `${value} ${unit} on an axis from ${log.min} to ${log.max}`);
      assert.ok(log.ticks.length >= 2 && log.ticks.length <= 7, `${value} ${unit}: ${log.ticks.length} ticks`);
    }
  }
});

test("logarithmic axes have ticks at 1, 2 and 5, and at powers of ten when they are long", () => {
  assert.deepEqual(logScale([150, 900], "µs", 5), { min: 100, max: 1000, ticks: [100, 200, 500, 1000] });
  assert.deepEqual(logScale([180, 90_000], "µs", 5), { min: 100, max: 100_000, ticks: [100, 1000, 10_000, 100_000] });
  assert.deepEqual(logScale([2100, 190_000], "TPS", 5).ticks, [2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000]);
  assert.deepEqual(logScale([], "µs", 5).ticks, [1, 2, 5, 10]);
  assert.deepEqual(logScale([0, -5, 100], "µs", 5), { min: 50, max: 200, ticks: [50, 100, 200] });
});
