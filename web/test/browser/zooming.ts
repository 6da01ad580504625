// Figures over the same time zoom together: node zooming.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { drawAll, figuresIn, panelOf } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);
const figures = figuresIn(report);
const groups = new Map<string, string[]>();
for (const [id, data] of figures) {
  if (data.kind === "timeline" || data.kind === "heat_map") groups.set(data.group, [...(groups.get(data.group) ?? []), id]);
}
// The run with the most to be linked.
const [group = "", linked = []] = [...groups].sort(([, one], [, other]) => other.length - one.length)[0] ?? [];
const others = [...groups].filter(([name]) => name !== group).flatMap(([, ids]) => ids);

test("a stretch that is dragged over is shown by all figures of the run, and by no others", () =>
  visit(addressOf(report), async ({ page }) => {
    await drawAll(page);
    const timeline = linked.find((id) => figures.get(id)?.kind === "timeline");
    assert.ok(timeline !== undefined && linked.length > 1, "there are figures to be linked");
    const whole = await shown(page, timeline);
    assert.deepEqual((await all(page, linked)).map(({ start, end }) => [start, end]), linked.map(() => [0, 100]));

    await page.locator(`figure.chart[data-figure="${timeline}"] .plot`).scrollIntoViewIfNeeded();
    const { x, y, width, height } = await panelOf(page, timeline);
    const middle = y + height / 2;
    await page.mouse.move(x + 0.3 * width, middle);
    await page.mouse.down();
    await page.mouse.move(x + 0.5 * width, middle, { steps: 4 });
    await page.mouse.move(x + 0.6 * width, middle, { steps: 4 });
    const begun = performance.now();
    await page.mouse.up();
    await page.waitForFunction((id) => {
      const option = window.dyno?.charts.get(id)?.getOption() as { dataZoom: { end: number }[] };
      return (option.dataZoom[0]?.end ?? 100) < 99;
    }, timeline);
    console.log(`note: zoomed ${linked.length} figures in ${Math.round(performance.now() - begun)} ms`);

    const pixel = (whole.to - whole.from) / width;
    for (const [index, { from, to }] of (await all(page, linked)).entries()) {
      const near = (one: number, other: number) => Math.abs(one - other) <= 3 * pixel;
      const shows = `${linked[index]} shows ${from} to ${to} ms`;
      assert.ok(near(from, whole.from + 0.3 * width * pixel) && near(to, whole.from + 0.6 * width * pixel), shows);
    }
    for (const { start, end } of await all(page, others)) assert.deepEqual([start, end], [0, 100]);

    await page.mouse.dblclick(x + 0.5 * width, middle);
    await page.waitForFunction((id) => {
      const option = window.dyno?.charts.get(id)?.getOption() as { dataZoom: { start: number }[] };
      return option.dataZoom[0]?.start === 0;
    }, timeline);
    // A heat map may end a column later than the run.
    for (const [index, { start, end }] of (await all(page, linked)).entries()) assert.ok(start === 0 && end > 99, `${linked[index]} shows up to ${end} %`);
  }));

interface Shown {
  /** In percent of the whole. */
  start: number;
  end: number;
  /** In milliseconds. */
  from: number;
  to: number;
}

function shown(page: Page, id: string): Promise<Shown> {
  return page.evaluate((id) => {
    interface Zoom {
      start: number;
      end: number;
      startValue: number;
      endValue: number;
    }
    const [zoom] = (window.dyno?.charts.get(id)?.getOption() as { dataZoom: Zoom[] }).dataZoom;
    if (zoom === undefined) throw new Error(`${id} cannot be zoomed`);
    return { start: zoom.start, end: zoom.end, from: zoom.startValue, to: zoom.endValue };
  }, id);
}

function all(page: Page, ids: string[]): Promise<Shown[]> {
  return Promise.all(ids.map((id) => shown(page, id)));
}
