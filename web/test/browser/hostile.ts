// Names that are attacks are shown as text: node hostile.mjs REPORT

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawAll, labelsOf } from "./figures";
import { addressOf, visit } from "./visit";

const [report = ""] = process.argv.slice(2);

test("names that are attacks are shown as text", () =>
  visit(addressOf(report), async ({ page }) => {
    const ids = await drawAll(page);
    const found = await page.evaluate(() => ({
      images: document.querySelectorAll("img").length,
      // Only dyno's names have such words.
      elements: [...document.querySelectorAll("b, script")].filter((element) => /^(other|alert|hostile)/.test(element.textContent ?? "")).length,
      handlers: [...document.querySelectorAll("*")].filter((element) => [...element.attributes].some(({ name }) => name.startsWith("on"))).length,
      links: [...document.links].filter((link) => link.protocol === "javascript:").length,
    }));
    assert.deepEqual(found, { images: 0, elements: 0, handlers: 0, links: 0 });
    const text = (await page.locator("body").innerText()).replace(/\s+/g, " ");
    for (const part of ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", '"quoted"', "&amp; &", "<b>other</b>"]) {
      assert.ok(text.includes(part), `${part} is not to be read`);
    }
    assert.match(await page.title(), /<img src=x/);

    const labels: string[] = [];
    for (const id of ids) labels.push(...(await labelsOf(page, id)).labels.map((label) => label.text));
    assert.ok(labels.some((label) => label.includes("<img")), "no chart has such a name");
  }));
