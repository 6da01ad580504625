// Figures as SVG documents: all kinds, all themes, from a phone's width to a wide page's.

import assert from "node:assert/strict";
import { test } from "node:test";

import { THEMES, type ThemeName } from "../src/charts/look";
import { toSvg } from "../src/charts/picture";
import type { Figure, FigureData } from "../src/model";
import { ALL, EMPTY, HOSTILE } from "./samples";

const WIDTHS = [375, 800, 1400];

function figure(data: FigureData): Figure {
  return { id: "figure", title: `Figure of ${HOSTILE}`, caption: HOSTILE, data, table: null };
}

for (const data of ALL) {
  test(`a ${data.kind} is drawn at any width and in any theme`, () => {
    for (const width of WIDTHS) {
      for (const theme of Object.keys(THEMES) as ThemeName[]) check(toSvg(figure(data), width, theme), width);
    }
  });
}

test("figures without data are drawn, too", () => {
  for (const data of EMPTY) check(toSvg(figure(data), 600, "light"), 600);
});

test("a height that is asked for is kept", () => {
  for (const data of ALL) assert.match(toSvg(figure(data), 800, "light", 640), /^<svg width="800" height="6[34]\d"/);
});

test("the values of bars are written on them", () => {
  const drawn = toSvg(figure(ALL.find(({ kind }) => kind === "bars")!), 800, "light");
  for (const value of ["10,000", ">5<", ">6<"]) assert.ok(drawn.includes(value), value);
});

test("a kind that does not exist is refused by its name", () => {
  assert.throws(() => toSvg(figure({ kind: "pie" } as unknown as FigureData), 800, "light"), /"pie"/);
});

/** Whether a document is drawn with numbers only, and holds names as text. */
function check(drawn: string, width: number): void {
  assert.ok(drawn.startsWith(`<svg width="${width}"`), drawn.slice(0, 80));
  const bad = /NaN|undefined|Infinity|\[object/.exec(drawn);
  assert.equal(bad, null, bad ? drawn.slice(Math.max(0, bad.index - 200), bad.index + 50) : "");
  assert.ok(!drawn.includes("<img"), "a name was taken for a tag");
  assert.ok(drawn.includes("&lt;img src=x"), "the title is missing");
}
