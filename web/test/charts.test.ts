// What of a figure's data arrives in ECharts' options, and what is told of a place.

import assert from "node:assert/strict";
import { test } from "node:test";

import { draw } from "../src/charts/draw";
import type { LineSeriesOption } from "../src/charts/echarts";
import type { Frame } from "../src/charts/frame";
import { seriesLook, THEMES } from "../src/charts/look";
import { nines } from "../src/charts/percentiles";
import { toSvg } from "../src/charts/picture";
import type { FigureData, Lane } from "../src/model";
import { BARS, HEAT_MAP, HOSTILE, MATRIX, PERCENTILES, series, SWEEP, TIMELINE } from "./samples";

const FRAME: Frame = { width: 900, theme: THEMES.light, interactive: true };

interface AnySeries {
  type?: string;
  id?: string;
  name?: string;
  data?: unknown[];
  stack?: string;
  sampling?: string;
}

function seriesOf(data: FigureData, frame = FRAME): AnySeries[] {
  return draw(data, frame).option.series as AnySeries[];
}

function lines(data: FigureData): AnySeries[] {
  return seriesOf(data).filter(({ type, name }) => type === "line" && name !== undefined);
}

test("a timeline draws each value at the middle of its step, and nothing where nothing was measured", () => {
  const drawn = lines({ kind: "timeline", ...TIMELINE });
  assert.deepEqual(drawn.map(({ name }) => name), ["tps/update", `tps/${HOSTILE}`, "p99/update", "waits/IO", "waits/Lock"]);
  assert.deepEqual(drawn[0]!.data, [[500, 100], [1500, 120], [2500, null], [3500, 130], [4500, 90]]);
});

test("a logarithmic axis leaves out zero, and a lone point is shown though no line goes through it", () => {
  const [latency] = lines({ kind: "timeline", ...TIMELINE }).filter(({ name }) => name === "p99/update");
  const isolated = (value: number[]) => ({ value, symbol: "circle", symbolSize: 4 });
  assert.deepEqual(latency!.data, [isolated([500, 150]), [1500, null], isolated([2500, 90_000]), [3500, null], isolated([4500, 210])]);
});

test("extremes survive thinning out: it is by least and greatest, and not done beside gaps or in stacks", () => {
  const thinned = new Map(lines({ kind: "timeline", ...TIMELINE }).map(({ name, sampling }) => [name, sampling]));
  assert.equal(thinned.get(`tps/${HOSTILE}`), "minmax");
  assert.equal(thinned.get("tps/update"), undefined);
  assert.equal(thinned.get("waits/IO"), undefined);
});

test("all panels of a timeline have the same stretch of time, and zoom together", () => {
  const { option, time } = draw({ kind: "timeline", ...TIMELINE }, FRAME);
  const axes = option.xAxis as { min: number; max: number }[];
  assert.equal(axes.length, 4);
  assert.ok(axes.every(({ min, max }) => min === -5000 && max === 6000));
  const zooms = option.dataZoom as { xAxisIndex: number[] }[];
  assert.ok(zooms.every(({ xAxisIndex }) => xAxisIndex.length === 4));
  assert.deepEqual([time?.group, time?.start_s, time?.end_s], ["001", -5, 6]);
});

test("a timeline tells all values of an instant with their units, and what was going on", () => {
  const { readout } = draw({ kind: "timeline", ...TIMELINE }, FRAME);
  const told = readout({ axisValue: 1500, seriesIndex: 0, dataIndex: 0 });
  assert.equal(told?.heading, "0:00:01.5");
  assert.deepEqual(
    told?.lines.map(({ name, value }) => [name, value]),
    [
      ["Throughput", undefined],
      ["update", "120 TPS (110 TPS to 130 TPS)"],
      [HOSTILE, "2 TPS"],
      ["Latency", undefined],
      ["update", "0 ms"],
      ["Waits", undefined],
      ["IO", "2 sessions"],
      ["Lock", "5 sessions"],
      ["stage", undefined],
      ["checkpoint by time", undefined],
    ],
  );
});

test("a name looks the same in all panels of a timeline, and in all figures that share names", () => {
  const lane = (id: string, ...names: string[]): Lane => ({ id, title: "", unit: "", log: false, stacked: false, reach: null, series: names.map((name) => series(name, [1])) });
  const lanes = [lane("a", "on", "off"), lane("b", "off"), lane("c", "IO")];
  const looks = (data: FigureData) =>
    (draw(data, FRAME).option.series as LineSeriesOption[]).flatMap(({ type, name, lineStyle }) => (type === "line" && name ? [[name, lineStyle?.color, lineStyle?.type]] : []));
  const [one, two, three] = [0, 1, 2].map((index) => {
    const { color, dash } = seriesLook(THEMES.light, index);
    return [color, dash];
  });
  const timeline = { ...TIMELINE, kind: "timeline" as const, lanes };
  assert.deepEqual(looks(timeline), [["a/on", ...one!], ["a/off", ...two!], ["b/off", ...two!], ["c/IO", ...one!]]);
  const names = ["third", "off", "on"];
  assert.deepEqual(looks({ ...timeline, names }), [["a/on", ...three!], ["a/off", ...two!], ["b/off", ...two!], ["c/IO", ...one!]]);
  const [, curve] = PERCENTILES.curves;
  assert.deepEqual(looks({ kind: "percentiles", reach: null, names, curves: [{ ...curve!, baseline: true }] }), [["off", ...two!]]);
  // Who looks like the second of several is named, though nobody is beside it.
  assert.match(JSON.stringify(draw({ ...timeline, lanes: [lanes[1]!], names }, FRAME).option.legend), /b\/off/);
});

test("what is known at last is a point with its range and its figures, also if it was known at once", () => {
  const known = series("change", [305.7], { role: "knowledge", first_s: 5, min: [242.5], max: [505.8] });
  const level = series("no difference", [0, 0], { role: "level", step_s: 3 });
  const lane: Lane = { id: "change", title: "Change", unit: "%", log: false, stacked: false, reach: null, series: [known, level] };
  const data: FigureData = { kind: "timeline", ...TIMELINE, lanes: [lane], spans: [], marks: [] };
  const svg = toSvg({ id: "x", title: "", caption: "", data, table: null }, 800, "light");
  assert.match(svg, />305\.7 % \(242\.5 to 505\.8\)</);
});

test("panels that are compared have the same axis", () => {
  const lane = (mean: number[]): Lane => ({ id: "a", title: "", unit: "TPS", log: false, stacked: false, reach: [10, 900], series: [series("x", mean)] });
  const axes = [[900, 500], [10, 20]].map((mean) => draw({ kind: "timeline", ...TIMELINE, lanes: [lane(mean)] }, FRAME).option.yAxis as { max: number }[]);
  assert.equal(axes[0]![0]!.max, axes[1]![0]!.max);
});

test("an axis of a stacked panel holds the sum, and one of a band its greatest value", () => {
  const lane = { id: "a", title: "", unit: "", log: false, stacked: true, reach: null, series: [series("x", [60]), series("y", [60])] };
  const band = { ...lane, id: "b", stacked: false, series: [series("x", [5], { min: [1], max: [950] })] };
  const { option } = draw({ kind: "timeline", ...TIMELINE, lanes: [lane, band] }, FRAME);
  const [stacked, banded] = option.yAxis as { max: number }[];
  assert.ok(stacked!.max >= 120 && stacked!.max <= 150, String(stacked!.max));
  assert.ok(banded!.max >= 950 && banded!.max <= 1200, String(banded!.max));
});

test("a heat map tells the rates of a column, and ends where the run does", () => {
  const { readout, time } = draw({ kind: "heat_map", ...HEAT_MAP }, FRAME);
  assert.deepEqual([time?.start_s, time?.end_s], [0, 170]);
  const told = readout({ axisValue: 150_000, seriesIndex: 0, dataIndex: 2 });
  assert.equal(told?.heading, "0:02:30");
  assert.deepEqual(told?.lines, [{ name: "1 ms to 10 ms", value: "8 TPS" }, { name: "0.1 ms to 1 ms", value: "40 TPS" }]);
});

test("percentiles stand on an axis of nines, where every nine takes the same room", () => {
  assert.ok(Math.abs(nines(90) - 1) < 1e-9 && Math.abs(nines(99) - 2) < 1e-9 && Math.abs(nines(99.999) - 5) < 1e-9);
  assert.equal(nines(0), 0);
  const drawn = lines({ kind: "percentiles", ...PERCENTILES });
  assert.deepEqual(drawn[0]!.data, PERCENTILES.curves[0]!.percentile.map((p, index) => [nines(p), PERCENTILES.curves[0]!.latency_us[index]]));
  assert.deepEqual((drawn[1]!.data as number[][]).map(([, latency]) => latency), [90, 180, null]);
  const { option } = draw({ kind: "percentiles", ...PERCENTILES }, FRAME);
  const [axis] = option.xAxis as unknown as { axisLabel: { customValues: number[]; formatter(value: number): string } }[];
  const labels = axis!.axisLabel;
  assert.deepEqual(labels.customValues.map((value) => labels.formatter(value)), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
});

test("a sweep draws its points, and has its ticks at the levels that were measured", () => {
  const drawn = lines({ kind: "sweep", ...SWEEP });
  assert.deepEqual(drawn[0]!.data, [[1, 100], [4, 300]]);
  const { option, readout } = draw({ kind: "sweep", ...SWEEP }, FRAME);
  assert.deepEqual((option.xAxis as { axisLabel: { customValues: number[] } }[])[0]!.axisLabel.customValues, [1, 4]);
  const told = readout({ axisValue: 1, seriesIndex: 0, dataIndex: 0 });
  assert.equal(told?.heading, "clients = 1");
  assert.deepEqual(told?.lines.map(({ value }) => value), [undefined, "100 TPS (90 TPS to 110 TPS)"]);
});

test("bars stand if their names have room beneath, and lie if not", () => {
  const short = { ...BARS, categories: ["direct", "indirect"] };
  assert.equal((draw({ kind: "bars", ...short }, FRAME).option.xAxis as { type: string }).type, "category");
  assert.equal((draw({ kind: "bars", ...BARS }, { ...FRAME, width: 375 }).option.yAxis as { type: string }).type, "category");
  const [one, two] = seriesOf({ kind: "bars", ...BARS }).filter(({ type }) => type === "bar");
  assert.deepEqual([one!.data, two!.data], [[10_000, "-"], [5, 6]]);
});

test("a matrix has its cells row by row, and tells factors, value and interval", () => {
  const [cells] = seriesOf({ kind: "matrix", ...MATRIX });
  assert.deepEqual(cells!.data!.slice(3, 5), [[0, 1, 1.5], [1, 1, 0.8]]);
  const { readout } = draw({ kind: "matrix", ...MATRIX }, FRAME);
  assert.deepEqual(readout({ seriesIndex: 0, dataIndex: 4 }), {
    heading: "0.8 times",
    lines: [{ name: HOSTILE, value: "off" }, { name: "clients", value: "8" }, { name: "interval", value: "0.7 to 1.6" }],
  });
  assert.deepEqual(readout({ seriesIndex: 0, dataIndex: 0 })?.lines.at(-1), { name: "This is the baseline." });
  assert.deepEqual(readout({ seriesIndex: 0, dataIndex: 1 })?.lines.at(-1), { name: "Not significantly different from the baseline." });
});

test("a figure that nobody can point at has neither tooltip nor slider, and is lower", () => {
  const drawn = draw({ kind: "timeline", ...TIMELINE }, { ...FRAME, interactive: false });
  assert.equal(drawn.option.tooltip, undefined);
  assert.equal(drawn.option.dataZoom, undefined);
  assert.ok(drawn.height < draw({ kind: "timeline", ...TIMELINE }, FRAME).height);
});
