// The contents of a report stay in view: node contents.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);

for (const width of [400, 1280]) {
  test(`on a screen of ${width} pixels the contents stay in view, and mark what is read`, () =>
    visit(
      addressOf(report),
      async ({ page }) => {
        const order = await page.locator("nav.toc a").evaluateAll((links) => links.map((link) => (link as HTMLAnchorElement).hash));
        const places = await page.evaluate((order) => order.map((hash) => document.querySelector(hash)?.getBoundingClientRect().top ?? -1), order);
        assert.deepEqual(places, [...places].sort((one, other) => one - other), `the contents have another order: ${order.join(" ")}`);
        assert.equal(order.at(-1), "#definitions");
        for (const hash of ["#cells", "#cautions", "#environment"]) {
          await page.locator(hash).evaluate((chapter) => chapter.scrollIntoView());
          const marked = page.locator(`nav.toc a[href="${hash}"][aria-current]`);
          await marked.waitFor({ timeout: 5_000 });
          const box = await marked.boundingBox();
          assert.ok(box !== null && box.x >= 0 && box.y >= 0 && box.x + box.width <= width + 1 && box.y < 900, `the link of ${hash} is out of sight`);
        }
        // From the end back to the begin, where no chapter may be in sight yet.
        await page.keyboard.press("End");
        await page.waitForFunction(() => scrollY > 0);
        await page.keyboard.press("Home");
        const first = page.locator(`nav.toc a[href="${order[0]}"][aria-current]`);
        await first.waitFor({ timeout: 5_000 });
        const box = await first.boundingBox();
        assert.ok(box !== null && box.x >= 0 && box.x + box.width <= width + 1, "the first link is out of sight");
      },
      { viewport: { width, height: 900 } },
    ));
}

test("a line of the head has the gravest caution, and leads to all of them", () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      const line = page.locator("header .mind a");
      assert.match(await line.innerText(), /^\d+ cautions?(; the gravest)?: \S/);
      const box = await line.boundingBox();
      assert.ok(box !== null && box.height < 40 && box.x + box.width <= 400, `it takes ${JSON.stringify(box)}`);
      await line.click();
      await page.locator(".warnings li").first().waitFor({ timeout: 5_000 });
    },
    { viewport: { width: 400, height: 900 } },
  ));
