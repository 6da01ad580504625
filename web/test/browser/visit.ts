// Pages that are watched for what must not happen: complaints on the console, dialogs, requests to elsewhere.

import { after, before } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

let browser: Browser;

before(async () => {
  const executablePath = process.env["CHROMIUM"];
  if (executablePath === undefined) throw new Error("CHROMIUM must name the browser");
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});
after(() => browser.close());

/** A page, and what happened in it that must not. */
export interface Visit {
  page: Page;
  problems: string[];
}

/** Opens a page in a window of its own, looks at it, and fails unless all went well. `isFine` says which complaints have a good reason. */
export async function visit(
  address: string,
  look: (visit: Visit) => Promise<void>,
  options: BrowserContextOptions = {},
  isFine: (complaint: string, from: string) => boolean = () => false,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const problems: string[] = [];
  const isAllowed = (url: string) => url.startsWith("data:") || url.startsWith("blob:") || isOwn(url, address);
  try {
    await context.route(
      (url) => !isAllowed(url.href),
      (route) => route.abort(),
    );
    const page = await context.newPage();
    page.on("request", (request) => {
      if (!isAllowed(request.url())) problems.push(`requested ${request.url()}`);
    });
    page.on("console", (message) => {
      const [type, text, from] = [message.type(), message.text(), message.location().url];
      if ((type === "error" || type === "warning") && !isFine(text, from)) problems.push(`${type} on the console: ${text} (${from})`);
    });
    page.on("pageerror", (error) => problems.push(`error: ${error.stack ?? error.message}`));
    page.on("dialog", (dialog) => {
      problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(address);
    await look({ page, problems });
  } finally {
    await context.close();
  }
  if (problems.length > 0) throw new Error(problems.slice(0, 20).join("\n"));
}

/** The address of a file. */
export function addressOf(file: string): string {
  return pathToFileURL(file).href;
}

/** A file may ask for nothing but itself, a page of a server for what is on that server. */
function isOwn(url: string, address: string): boolean {
  const [asked, page] = [new URL(url), new URL(address)];
  if (page.protocol === "file:") return asked.protocol === "file:" && asked.pathname === page.pathname;
  return asked.origin === page.origin;
}
