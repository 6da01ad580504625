// The pages of dyno serve over an archive: node archive.mjs DYNO ARCHIVE CAMPAIGN...
//
// The campaigns are to be compared: the first two are of one experiment. The archive also holds one whose names are attacks.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { drawAll } from "./figures";
import { Server } from "./server";
import { visit } from "./visit";

const [dyno = "", archive = "", ...campaigns] = process.argv.slice(2);
const server = new Server(dyno, archive);

test("campaigns are listed, filtered, opened and put side by side", async () => {
  await server.start();
  await visit(`${server.address}/`, async ({ page }) => {
    const rows = page.locator("table.list tbody tr");
    const all = await rows.count();
    assert.ok(all > campaigns.length);
    await page.locator("input[name=text]").fill("durability");
    await page.locator("form.filter button").click();
    await page.waitForURL(/text=durability/);
    const left = await rows.count();
    assert.ok(left > 0 && left < all, `${left} of ${all} are left`);

    for (const campaign of campaigns) await page.locator(`input[name=campaign][value="${campaign}"]`).check();
    await page.locator(`input[name=baseline][value="${campaigns[0]}"]`).check();
    await page.getByRole("button", { name: "side by side" }).click();
    await page.locator(".headline").first().waitFor();
    assert.notEqual((await drawAll(page)).length, 0);
  });
});

test("a comparison can be opened", () =>
  visit(`${server.address}/compare?a=${encodeURIComponent(campaigns[0] ?? "")}&b=${encodeURIComponent(campaigns[1] ?? "")}`, async ({ page }) => {
    await page.locator("figure.chart").first().waitFor();
    assert.notEqual((await drawAll(page)).length, 0);
  }));

test("names that are attacks are listed as text", () =>
  visit(`${server.address}/?text=hostile`, async ({ page }) => {
    assert.equal(await page.locator("table.list tbody tr").count(), 1);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("input[name=text]").inputValue(), "hostile");
    await fits(page);
  }));

test("what is looked for may be an attack, too", () =>
  visit(`${server.address}/?text=${encodeURIComponent('"><img src=x onerror=alert(1)>')}`, async ({ page }) => {
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.locator("input[name=text]").inputValue(), '"><img src=x onerror=alert(1)>');
  }));

for (const width of [375, 1400]) {
  test(`the list fits on a screen of ${width} pixels`, () =>
    visit(`${server.address}/`, async ({ page }) => fits(page), { viewport: { width, height: 800 } }));
}

test("on a phone the throughput of a campaign is in sight", () =>
  visit(
    `${server.address}/`,
    async ({ page }) => {
      const heading = await page.locator("table.list th", { hasText: "TPS" }).boundingBox();
      assert.ok(heading !== null && heading.x + heading.width <= 400, `it is at ${JSON.stringify(heading)}`);
    },
    { viewport: { width: 400, height: 800 } },
  ));

async function fits(page: Page): Promise<void> {
  const [needed, has] = await page.evaluate(() => [document.scrollingElement?.scrollWidth ?? 0, innerWidth]);
  assert.ok(needed <= has, `the page is ${needed} pixels wide on a screen of ${has}`);
}
