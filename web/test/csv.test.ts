import assert from "node:assert/strict";
import { test } from "node:test";

import { toCsv } from "../src/page/csv";
import { ALL, BARS, TIMELINE } from "./samples";

test("a row per value, with names quoted where they must be", () => {
  assert.deepEqual(toCsv({ kind: "bars", ...BARS, categories: ["direct", 'a "b", c'] }).split("\r\n"), [
    "group,name,unit,value,low,high",
    "direct,one,TPS,10000,9000,11000",
    "direct,two,TPS,5,,",
    '"a ""b"", c",one,TPS,,,',
    '"a ""b"", c",two,TPS,6,,',
    "",
  ]);
});

test("no name is a formula to a spreadsheet, and numbers stay numbers", () => {
  const names = ["=1+1", "+1", "-on", "@sum", "-1.5", "1e6", "a=1"];
  const csv = toCsv({ kind: "bars", ...BARS, categories: names, series: [{ name: "x", values: names.map(() => -2), low: [], high: [] }] });
  const rows = csv.trimEnd().split("\r\n").slice(1);
  assert.deepEqual(rows.map((row) => row.split(",")[0]), ["'=1+1", "+1", "'-on", "'@sum", "-1.5", "1e6", "a=1"]);
  assert.ok(rows.every((row) => row.includes(",TPS,-2,")), csv);
});

test("a timeline has its steps, and after them what happened", () => {
  const rows = toCsv({ kind: "timeline", ...TIMELINE }).split("\r\n");
  assert.equal(rows[1], "0,1,Throughput,update,TPS,100,90,110");
  assert.ok(rows.includes("1,2.5,timed_checkpoint,checkpoint by time,,,,"));
});

test("every kind of figure can be saved, and all its rows are equally long", () => {
  for (const data of ALL) {
    const rows = toCsv(data).trimEnd().split("\r\n");
    const fields = (row: string) => row.replace(/"(?:[^"]|"")*"/g, "").split(",").length;
    assert.ok(rows.length > 1, data.kind);
    assert.ok(rows.every((row) => fields(row) === fields(rows[0]!)), data.kind);
  }
});
