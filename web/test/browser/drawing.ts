// A report draws its data: node drawing.mjs REPORT
//
// What was drawn is read back from ECharts and compared with the data in the file, and looked at in pixels.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { FigureData, Series } from "../../src/model";
import { drawAll, figuresIn, panelOf, pixelsOf, seriesOf, type DrawnSeries } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);
const figures = figuresIn(report);

test("every figure is drawn, with the data of the file", () =>
  visit(addressOf(report), async ({ page }) => {
    const ids = await drawAll(page);
    assert.deepEqual([...ids].sort(), [...figures.keys()].sort());
    assert.notEqual(ids.length, 0);
    for (const [id, data] of figures) {
      await holds(page, id, data);
      await shows(page, id, data);
    }
  }));

/** Fails unless ECharts holds the data of the file. */
async function holds(page: Page, id: string, data: FigureData): Promise<void> {
  const drawn = await seriesOf(page, id);
  const expect = (what: string, isIt: (series: DrawnSeries) => boolean, values: unknown[]) => {
    const series = drawn.find(isIt);
    assert.ok(series, `${id} does not draw ${what}`);
    assert.deepEqual(rounded(series.data), rounded(values), `${id} draws other values of ${what}`);
  };
  switch (data.kind) {
    case "timeline":
      for (const lane of data.lanes) {
        for (const series of lane.series) {
          const name = `${lane.id}/${series.name}`;
          expect(name, (drawn) => drawn.id === name, steps(series, lane.log));
        }
      }
      break;
    case "heat_map":
      assert.equal(drawn.find((series) => series.id === "columns")?.data.length, data.counts.length, `${id} has other columns`);
      break;
    case "percentiles":
      for (const curve of data.curves) {
        const values = curve.percentile.map((percentile, at) => [-Math.log10(Math.max(1e-12, 1 - percentile / 100)), curve.latency_us[at] || null]);
        expect(curve.name, (drawn) => drawn.type === "line" && drawn.name === curve.name, values);
      }
      break;
    case "sweep":
      for (const [index, panel] of data.panels.entries()) {
        for (const line of panel.lines) {
          const values = line.points.map(({ level, value }) => [level, panel.log && value <= 0 ? null : value]);
          const isLine = (drawn: DrawnSeries) => drawn.type === "line" && drawn.panel === index && drawn.name === line.name;
          expect(`${panel.title} of ${line.name}`, isLine, values);
        }
      }
      break;
    case "bars":
      for (const series of data.series) {
        const isBar = (drawn: DrawnSeries) => drawn.type === "bar" && drawn.name === series.name;
        expect(series.name, isBar, series.values.map((value) => value ?? "-"));
      }
      break;
    case "matrix": {
      const cells = data.cells.flatMap((row, index) => row.map((cell, column) => [column, index, cell.value ?? NaN]));
      expect("its cells", (drawn) => drawn.id === "cells", cells);
    }
  }
}

/** Values to nine digits: what is calculated in two ways need not be the same to the last. */
function rounded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rounded);
  // Zero has no sign.
  return typeof value === "number" ? Number(value.toPrecision(9)) + 0 : value;
}

/** The points of a series over time, in milliseconds. */
function steps({ first_s, step_s, mean }: Series, log: boolean): [number, number | null][] {
  return mean.map((value, index) => {
    const middle_s = first_s + (index + 0.5) * step_s;
    return [Math.round(1000 * middle_s), log && value !== null && value <= 0 ? null : value];
  });
}

/** Fails unless something is to be seen: the colours of lines and bars, or differing shades. */
async function shows(page: Page, id: string, data: FigureData): Promise<void> {
  const colors = await colorsIn(page, id);
  assert.ok(colors.size > 2, `${id} shows ${colors.size} colours`);
  // Shades have colours of their own, and stacked areas let the lines behind them through.
  if (data.kind === "heat_map" || data.kind === "matrix" || (data.kind === "timeline" && data.lanes[0]?.stacked)) return;
  const series = (await seriesOf(page, id)).filter(({ color, type, data, panel }) => color.startsWith("#") && panel === 0 && type !== "custom" && data.length > 1);
  // Not each: lines may lie over each other.
  assert.ok(series.length === 0 || series.some(({ color }) => colors.has(color)), `${id} shows none of the colours of its series`);
}

/** The colours in the first panel of a chart. */
async function colorsIn(page: Page, id: string): Promise<Set<string>> {
  const { x, y, width, height } = await panelOf(page, id);
  const box = (await page.locator(`figure.chart[data-figure="${id}"] .plot`).boundingBox()) ?? { x: 0, y: 0 };
  const pixels = await pixelsOf(page, id, [{ left: x - box.x, top: y - box.y, right: x - box.x + width, bottom: y - box.y + height }]);
  return new Set((pixels[0] ?? []).map((color) => `#${color.toString(16).padStart(6, "0")}`));
}

test("a place that is pointed at tells its values", () =>
  visit(addressOf(report), async ({ page }) => {
    await drawAll(page);
    for (const [id, data] of figures) {
      const plot = page.locator(`figure.chart[data-figure="${id}"] .plot`);
      await plot.scrollIntoViewIfNeeded();
      const { x, y, width, height } = await panelOf(page, id);
      // Into the middle of a cell or bar, whatever the kind.
      const across = data.kind === "matrix" ? 0.5 / data.columns.length : data.kind === "bars" ? 0.5 / data.categories.length : 0.53;
      const down = data.kind === "matrix" ? 0.5 / data.rows.length : data.kind === "bars" ? 0.5 / data.categories.length : 0.5;
      await page.mouse.move(x + width * across - 3, y + height * down);
      await page.mouse.move(x + width * across, y + height * down);
      const readout = plot.locator(".readout");
      await readout.waitFor({ state: "visible", timeout: 5_000 }).catch(() => assert.fail(`${id} tells nothing of where it is pointed at`));
      assert.match((await readout.textContent()) ?? "", /\d/, `${id} tells no value`);
      await page.mouse.move(0, 0);
    }
  }));
