// Nothing is cut off, and nothing lies over anything else, on narrow and wide screens: node layout.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { drawAll, labelsOf, type Label } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);
/** Texts may touch: boxes are higher than letters. */
const TOLERANCE = 1;

for (const width of [375, 800, 1400]) {
  test(`all fits on a screen of ${width} pixels`, () =>
    visit(
      addressOf(report),
      async ({ page }) => {
        const ids = await drawAll(page);
        assert.deepEqual(await tooWide(page), []);
        const faults: string[] = [];
        for (const id of ids) faults.push(...(await faultsOf(page, id)));
        assert.deepEqual(faults, []);
      },
      { viewport: { width, height: 800 } },
    ));
}

/** What is wider than the screen, though it is in no box that scrolls by itself. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const page = document.scrollingElement ?? document.documentElement;
    const scrolls = (element: Element | null): boolean =>
      element !== null && element !== page && element !== document.body && (/auto|scroll|hidden/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    const wide = [...document.querySelectorAll("body *")]
      .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(element.parentElement))
      .map((element) => `${element.tagName} .${element.className}: ${(element.textContent ?? "").trim().slice(0, 60)}`);
    return page.scrollWidth > innerWidth ? [`the page is ${page.scrollWidth} pixels wide`, ...wide.slice(0, 10)] : [];
  });
}

async function faultsOf(page: Page, id: string): Promise<string[]> {
  const { width, height, labels } = await labelsOf(page, id);
  assert.notEqual(labels.length, 0, `${id} has no texts`);
  const cut = labels
    .filter(({ left, top, right, bottom }) => left < -TOLERANCE || top < -TOLERANCE || right > width + TOLERANCE || bottom > height + TOLERANCE)
    .map(({ text }) => `${id}: "${text}" is cut off`);
  const covered = labels.flatMap((one, index) =>
    labels.slice(index + 1).flatMap((other) => (overlap(one, other) ? [`${id}: "${one.text}" and "${other.text}" lie over each other`] : [])),
  );
  return [...cut, ...covered];
}

function overlap(one: Label, other: Label): boolean {
  const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  // Lines of text are as high as their boxes, which may share some pixels without touching letters.
  return across > TOLERANCE && down > 3 * TOLERANCE;
}
