// What is written can be read, in the light and in the dark: node colours.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { drawAll, labelsOf, pixelsOf } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);
/** The least contrast of text by WCAG 2.2, level AA. */
const LEAST_CONTRAST = 4.5;

for (const colorScheme of ["light", "dark"] as const) {
  test(`a system that is ${colorScheme} has a ${colorScheme} page that can be read`, () =>
    visit(
      addressOf(report),
      async ({ page }) => {
        await isReadable(page, colorScheme === "dark");
      },
      { colorScheme },
    ));
}

test("the button chooses a theme, and charts follow", () =>
  visit(addressOf(report), async ({ page }) => {
    await drawAll(page);
    const button = page.locator("button.theme");
    for (let clicks = 0; clicks < 3 && !(await isDark(page)); clicks++) await button.click();
    await isReadable(page, true);
    for (let clicks = 0; clicks < 3 && (await isDark(page)); clicks++) await button.click();
    await isReadable(page, false);
  }));

function isDark(page: Page): Promise<boolean> {
  return page.evaluate(() => {
    const parts = /\d+/g;
    return (getComputedStyle(document.body).backgroundColor.match(parts) ?? []).slice(0, 3).every((part) => Number(part) < 60);
  });
}

async function isReadable(page: Page, dark: boolean): Promise<void> {
  const ids = await drawAll(page);
  assert.equal(await isDark(page), dark);
  const faint = await faintTexts(page);
  for (const id of ids) faint.push(...(await faintLabels(page, id)));
  assert.deepEqual(faint.slice(0, 20), []);
}

/** Texts of the page with too little contrast to what is behind them. */
async function faintTexts(page: Page): Promise<string[]> {
  const texts = await page.evaluate(() => {
    const parts = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
    const number = ([red = 255, green = 255, blue = 255]: number[]) => (red << 16) | (green << 8) | blue;
    const behind = (element: Element | null): number[] => {
      const color = element === null ? [] : parts(getComputedStyle(element).backgroundColor);
      return element !== null && color[3] === 0 ? behind(element.parentElement) : color;
    };
    const texts: { text: string; color: number; behind: number }[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const [text, element] = [walker.currentNode.textContent?.trim() ?? "", walker.currentNode.parentElement];
      if (text === "" || element === null || !element.checkVisibility() || element.closest("script, style, .readout")) continue;
      texts.push({ text, color: number(parts(getComputedStyle(element).color)), behind: number(behind(element)) });
    }
    return texts;
  });
  return texts.flatMap(({ text, color, behind }) => {
    const contrast = contrastOf(color, behind);
    return contrast < LEAST_CONTRAST ? [`"${text.slice(0, 60)}" has a contrast of ${contrast.toFixed(1)}`] : [];
  });
}

/** Texts of a chart with too little contrast to what is drawn behind them. */
async function faintLabels(page: Page, id: string): Promise<string[]> {
  // The stroke of a single digit may be too thin to have a pixel of its colour.
  const labels = (await labelsOf(page, id)).labels.filter(({ text }) => text.length > 1);
  const pixels = await pixelsOf(page, id, labels);
  return labels.flatMap(({ text }, index) => {
    // The commonest colour is what is behind; what differs most from it is in the middle of a stroke of a letter.
    const [behind = 0, ...others] = pixels[index] ?? [];
    const contrast = Math.max(1, ...others.map((color) => contrastOf(behind, color)));
    // Strokes are hardly wider than a pixel, so that their colour is mixed with what is behind.
    return contrast < 0.8 * LEAST_CONTRAST ? [`${id}: "${text}" has a contrast of ${contrast.toFixed(1)}`] : [];
  });
}

/** The contrast of two colours by WCAG 2.2, from 1 to 21. */
function contrastOf(one: number, other: number): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((one, other) => one - other) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(color: number): number {
  const [red, green, blue] = [color >> 16, color >> 8, color].map((part) => {
    const share = (part & 0xff) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
