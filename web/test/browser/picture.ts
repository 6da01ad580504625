// A picture of the first chart of a kind: node picture.mjs REPORT KIND PICTURE

import { test } from "node:test";
import { drawn, figuresIn } from "./figures";
import { addressOf, visit } from "./visit";

const [report = "", kind = "", picture = ""] = process.argv.slice(2);

test(`the picture ${picture}`, () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      const [id] = [...figuresIn(report)].find(([, data]) => data.kind === kind) ?? [];
      if (id === undefined) throw new Error(`${report} has no ${kind}`);
      await page.addStyleTag({ content: "figure.chart > :is(.tools, details) { display: none; } figure.chart { padding: 0.75rem; }" });
      await drawn(page, id);
      await page.locator(`figure.chart[data-figure="${id}"]`).screenshot({ path: picture });
    },
    // Twice as fine as most screens, and narrow enough for a README.
    { viewport: { width: 900, height: 900 }, deviceScaleFactor: 1.6 },
  ));
