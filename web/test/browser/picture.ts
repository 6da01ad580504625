// A picture of a chart: node picture.mjs REPORT FIGURE PICTURE

import { test } from "node:test";
import { drawn } from "./figures";
import { addressOf, visit } from "./visit";

const [report = "", figure = "", picture = ""] = process.argv.slice(2);

test(`the picture ${picture}`, () =>
  visit(
    addressOf(report),
    async ({ page }) => {
      await page.addStyleTag({ content: "figure.chart > :is(.tools, details) { display: none; } figure.chart { padding: 0.75rem; }" });
      await drawn(page, figure);
      await page.locator(`figure.chart[data-figure="${figure}"]`).screenshot({ path: picture });
    },
    // Twice as fine as most screens, and narrow enough for a README.
    { viewport: { width: 900, height: 900 }, deviceScaleFactor: 1.6 },
  ));
