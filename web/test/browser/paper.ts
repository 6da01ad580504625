// A report on paper, and where no script runs: node paper.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import { figuresIn } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);

test("paper has everything, and nothing to be clicked", () =>
  visit(addressOf(report), async ({ page }) => {
    await page.emulateMedia({ media: "print" });
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    const state = await page.evaluate(() => ({
      folded: document.querySelectorAll("details:not([open], figure > *)").length,
      buttons: [...document.querySelectorAll("button")].filter((button) => button.checkVisibility()).length,
      undrawn: [...document.querySelectorAll(".plot")].filter((plot) => plot.querySelector("svg") === null).length,
      figures: document.querySelectorAll(".plot").length,
      warnings: [...document.querySelectorAll(".warnings")].every((warnings) => warnings.checkVisibility()),
      cut: [...document.querySelectorAll("header .mind a")].filter((line) => line.scrollWidth > line.clientWidth).length,
    }));
    const figures = figuresIn(report).size;
    assert.deepEqual(state, { folded: 0, buttons: 0, undrawn: 0, figures, warnings: true, cut: 0 });
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));

    await page.emulateMedia({ media: null });
    const folded = () => page.evaluate(() => document.querySelectorAll("details:not([open])").length);
    const before = await folded();
    const paper = await page.pdf({ preferCSSPageSize: true });
    assert.equal(paper.subarray(0, 5).toString(), "%PDF-");
    assert.equal(await folded(), before, "what was unfolded for paper is folded again");
  }));

test("without scripts everything is there but the charts", () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      await page.locator("h1").waitFor({ state: "visible" });
      // A campaign that decides nothing has no figure in large letters.
      assert.ok(await page.locator(".headline, .answer").first().isVisible(), "there is neither answer nor headline");
      if ((await page.locator(".warnings").count()) > 0) {
        assert.match((await page.locator(".warnings > summary").innerText()).trim(), /^\d+ cautions?(; the gravest)?: \S/);
        assert.ok(!(await page.locator(".warnings li").first().isVisible()), "cautions are not folded");
        await page.locator(".warnings > summary").click();
        assert.ok(await page.locator(".warnings li").first().isVisible(), "cautions cannot be unfolded");
      }
      assert.ok(await page.locator("table:visible").first().isVisible(), "there is no table");
      // Every chart has its figures in a table beneath it, or says in words what is seen in it.
      const captions = await page.locator("figure.chart figcaption").allTextContents();
      assert.equal(captions.length, figuresIn(report).size);
      assert.ok(captions.every((caption) => caption.trim() !== ""));
    },
    { javaScriptEnabled: false },
  ));
