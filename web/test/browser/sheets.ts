// A campaign of six runs on paper: node sheets.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);
const MOST_SHEETS = 6;
/** The width of A4 without the margins of style.css, in pixels. */
const SHEET = 695;

test(`it takes at most ${MOST_SHEETS} sheets`, () =>
  visit(addressOf(report), async ({ page }) => {
    const paper = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
    const sheets = paper.match(/\/Type\s*\/Page\b/g)?.length ?? 0;
    console.log(`note: ${sheets} sheets`);
    assert.ok(sheets > 1 && sheets <= MOST_SHEETS, `it takes ${sheets} sheets`);
  }));

test("nothing is wider than a sheet, and no cell is broken within a word", () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      await page.emulateMedia({ media: "print" });
      await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
      const faults = await page.evaluate((sheet) => {
        const shown = [...document.querySelectorAll<HTMLElement>("table, .plot, pre")].filter((element) => element.checkVisibility());
        const wide = shown.filter((element) => element.getBoundingClientRect().right > sheet + 1).map((element) => `${element.tagName} is too wide: ${(element.textContent ?? "").slice(0, 60)}`);
        const cells = [...document.querySelectorAll<HTMLElement>("td, th")].filter((cell) => cell.checkVisibility());
        const broken = cells.filter((cell) => getComputedStyle(cell).overflowWrap !== "normal").map((cell) => `${cell.textContent} may be broken anywhere`);
        return [...wide, ...broken.slice(0, 5)];
      }, SHEET);
      assert.deepEqual(faults, []);
    },
    { viewport: { width: SHEET, height: 1000 } },
  ));
