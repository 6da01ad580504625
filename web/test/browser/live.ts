// The live page of a campaign under way: node live.mjs DYNO ARCHIVE CAMPAIGN
//
// Whoever starts this goes on writing the campaign, and ends it within two minutes.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { seriesOf } from "./figures";
import { Server } from "./server";
import { visit } from "./visit";

const [dyno = "", archive = "", campaign = ""] = process.argv.slice(2);
const server = new Server(dyno, archive);

/** What a browser says of a server that is not there, or has gone: nobody can prevent it. */
const isOfLostConnection = (complaint: string, from: string) =>
  /^Failed to load resource: net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)/.test(complaint) && from.endsWith("/events");

test("a campaign is followed to its end, whatever happens meanwhile", async () => {
  await server.start();
  const address = `${server.address}/live/${encodeURIComponent(campaign)}`;
  await visit(
    address,
    async ({ page }) => {
      await connection(page, "live");
      const first = await points(page);
      assert.ok(first >= 60, `of a minute before the page was opened it shows ${first} seconds`);
      await grows(page, first);
      const transactions = await page.locator("#transactions").textContent();
      await page.waitForFunction((before) => document.getElementById("transactions")?.textContent !== before, transactions);

      const before = await points(page);
      await page.reload();
      await connection(page, "live");
      assert.ok((await points(page)) >= before, "a page that was loaded again has forgotten what it showed");

      // Another one looks on, from when the server is there again.
      await server.stop();
      await connection(page, "reconnecting");
      assert.ok(await page.locator("#lost").isVisible());
      await server.start();
      await connection(page, "live");
      await visit(address, async ({ page: other }) => {
        await connection(other, "live");
        const [one, two] = [await points(page), await points(other)];
        assert.ok(one >= before && Math.abs(one - two) <= 30, `one viewer sees ${one} seconds, the other ${two}`);
        await Promise.all([grows(page, one), grows(other, two)]);
      });

      await connection(page, "ended", 120_000);
      const link = page.locator("#ended a");
      assert.ok(await link.isVisible());
      await link.click();
      await page.locator(".headline").first().waitFor();
      assert.ok((await page.locator("figure.chart").count()) > 0, "the report has no figures");
    },
    {},
    isOfLostConnection,
  );
});

async function connection(page: Page, state: string, timeout = 30_000): Promise<void> {
  await page.locator(`#connection[data-state="${state}"]`).waitFor({ timeout });
}

/** How many seconds the throughput figure shows. */
async function points(page: Page): Promise<number> {
  await page.waitForFunction(() => (window.dyno?.charts.size ?? 0) > 0);
  const ids = await page.evaluate(() => [...(window.dyno?.charts.keys() ?? [])]);
  for (const id of ids) {
    const throughput = (await seriesOf(page, id)).find((series) => series.id === "throughput/orders");
    if (throughput !== undefined) return throughput.data.length;
  }
  throw new Error(`none of ${ids.join(", ")} is the throughput`);
}

/** Waits until more seconds are shown. */
async function grows(page: Page, before: number): Promise<void> {
  for (let patience = 0; patience < 100; patience++) {
    if ((await points(page)) > before) return;
    await page.waitForTimeout(200);
  }
  assert.fail(`no more than ${before} seconds are shown`);
}
