import assert from "node:assert/strict";
import { test } from "node:test";

import { cut, squeezed, textWidth, wrap } from "../src/charts/text";

test("what fits is left as it is", () => {
  assert.equal(cut("update", 12, 200), "update");
  assert.deepEqual(wrap("update", 12, 200, 3), ["update"]);
});

test("what does not fit is cut, never in the middle of a character", () => {
  const long = "𝒳".repeat(100);
  const short = cut(long, 12, 100);
  assert.ok(short.endsWith("…") && textWidth(short, 12) <= 112, short);
  assert.ok([...short.slice(0, -1)].every((character) => character === "𝒳"));
});

test("line breaks and control characters do not break lines", () => {
  assert.equal(cut("a\nb\u0000c\u2028d", 12, 500), "a b c d");
});

test("words are kept together, and the last line is cut", () => {
  const lines = wrap("one two three four five six seven", 12, 70, 2);
  assert.equal(lines.length, 2);
  assert.equal(lines[0], "one two");
  assert.ok(lines[1]!.endsWith("…"), lines[1]!);
  assert.equal(wrap("x".repeat(50), 12, 70, 3).length, 1);
});

test("names keep what tells them from others, at either end", () => {
  const names = ["on", "local", "off"].map((level) => `update, full_page_writes = on, synchronous_commit = ${level}`);
  const short = names.map((name) => squeezed(name, 11, 120));
  assert.equal(new Set(short).size, 3);
  assert.ok(short.every((name) => name.startsWith("update") && name.includes("…") && textWidth(name, 11) <= 120), short.join());
  assert.equal(squeezed("update", 11, 120), "update");
  assert.equal(squeezed("update", 11, 1), "…");
});
