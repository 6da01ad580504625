// The page of a series can be sorted, filtered and compared, and is whole without a script: node series.mjs PAGE

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);

/** The titles of the rows that are to be seen, headings with a colon. */
function rows(page: Page): Promise<string[]> {
  return page.locator("table.series tbody tr:visible").evaluateAll((rows) =>
    rows.map((row) => {
      const head = row.querySelector("th");
      return row.classList.contains("group") ? `${head?.textContent}:` : (head?.querySelector("a")?.textContent ?? "");
    }),
  );
}

const ORDER = ["One:", "Slow <b>", "Middling", "Two:", "Fast"];

test("rows are sorted by the columns, and brought back into their order", () =>
  visit(addressOf(report), async ({ page }) => {
    assert.deepEqual(await rows(page), ORDER);
    const tps = page.locator("th[data-measure='0'] button").first();
    await tps.click();
    assert.deepEqual(await rows(page), ["Fast", "Middling", "Slow <b>"]);
    await tps.click();
    assert.deepEqual(await rows(page), ["Slow <b>", "Middling", "Fast"]);
    assert.equal(await page.locator("[aria-sort]").count(), 1);
    await tps.click();
    assert.deepEqual(await rows(page), ORDER);
    await page.getByRole("button", { name: "Experiment" }).click();
    assert.deepEqual(await rows(page), ["Fast", "Middling", "Slow <b>"]);
  }));

test("rows are filtered by words", () =>
  visit(addressOf(report), async ({ page }) => {
    await page.locator("#words").fill("two");
    assert.deepEqual(await rows(page), ["Two:", "Fast"]);
    assert.equal(await page.locator("#shown").textContent(), "1 of 3 rows");
    await page.locator("#words").fill("");
    assert.deepEqual(await rows(page), ORDER);
  }));

test("another column can be compared with, and one measure shown", () =>
  visit(addressOf(report), async ({ page }) => {
    const fast = page.locator("table.series tbody tr", { hasText: "Fast" });
    const ratios = () => fast.locator("td[data-measure='0'] .ratio").allTextContents();
    const [, half] = await ratios();
    assert.match(half ?? "", /^×0\.[45]/);
    assert.ok((await fast.locator("td[data-column='1'][data-measure='0'][data-shade]").count()) === 1, "the slower cell has no shade");
    await page.locator("#base").selectOption("1");
    const [double, own] = await ratios();
    assert.match(double ?? "", /^×[12]\./);
    assert.equal(own, "");
    const before = await page.locator("table.series").evaluate((table) => table.scrollWidth);
    await page.locator("#measure").selectOption("2");
    assert.equal(await fast.locator("td[data-measure]:visible").count(), 2);
    const after = await page.locator("table.series").evaluate((table) => table.scrollWidth);
    assert.ok(after < before, "the table is as wide as with all measures");
  }));

for (const width of [375, 1400]) {
  test(`the page is not wider than a screen of ${width} pixels`, () =>
    visit(
      addressOf(report),
      async ({ page }) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "it scrolls sideways"),
      { viewport: { width, height: 800 } },
    ));
}

test("a phone shows the figures of the first database beside what they are of", () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      const row = page.locator("table.series tbody tr", { hasText: "Fast" });
      const tps = await row.locator("td[data-measure='0']").first().boundingBox();
      assert.ok(tps !== null && tps.x + tps.width <= 400, "the throughput is out of sight");
      await page.locator(".table-box").evaluate((box) => box.scrollTo({ left: 1000 }));
      const name = await row.locator("th").boundingBox();
      assert.ok(name !== null && name.x >= 0, "what the figures are of has scrolled away");
    },
    { viewport: { width: 400, height: 800 } },
  ));

test("cautions begin with the gravest, and paper has all of them", () =>
  visit(addressOf(report), async ({ page }) => {
    const summary = page.locator("section.part summary").first();
    assert.match(await summary.innerText(), /^\d+ cautions?(; the gravest)?: \S/);
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open])").count(), 0);
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("details[open]").count(), 0);
  }));

test("without a script all is there", () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      assert.deepEqual(await rows(page), ORDER);
      assert.ok(!(await page.locator(".controls").isVisible()));
      assert.ok(await page.getByText("How fast is Fast?").isVisible());
    },
    { javaScriptEnabled: false },
  ));
