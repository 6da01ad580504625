// The figures of a page: their data, and what has become of them.

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import type { FigureData } from "../../src/model";

/** The data of a report's figures, read from the file without the page's own code. */
export function figuresIn(file: string): Map<string, FigureData> {
  const packed = /<script type="text\/plain" id="figures">([^<]*)<\/script>/.exec(readFileSync(file, "utf8"))?.[1];
  if (packed === undefined) throw new Error(`${file} has no data of figures`);
  const text = gunzipSync(Buffer.from(packed, "base64")).toString("utf8");
  return new Map(Object.entries(JSON.parse(text) as Record<string, FigureData>));
}

/** Unfolds all chapters of a report and goes past its figures, until all of them are drawn. Gives back their ids. */
export async function drawAll(page: Page): Promise<string[]> {
  const ids = await page.evaluate(() => {
    for (const folded of document.querySelectorAll<HTMLDetailsElement>("details.folded")) folded.open = true;
    return [...document.querySelectorAll<HTMLElement>("figure.chart")].map((figure) => figure.dataset["figure"] ?? "");
  });
  for (const id of ids) await drawn(page, id);
  return ids;
}

/** Goes to a figure, and waits until it is drawn. */
export async function drawn(page: Page, id: string): Promise<void> {
  await page.locator(`figure.chart[data-figure="${id}"] .plot`).scrollIntoViewIfNeeded();
  await page.waitForFunction((id) => window.dyno?.charts.has(id), id, { timeout: 15_000 });
}

/** A series as ECharts has it. */
export interface DrawnSeries {
  id: string;
  name: string;
  type: string;
  panel: number;
  color: string;
  data: unknown[];
}

/** What ECharts has been told to draw. */
export function seriesOf(page: Page, id: string): Promise<DrawnSeries[]> {
  return page.evaluate((id) => {
    const option = window.dyno?.charts.get(id)?.getOption() as { series: Record<string, unknown>[] } | undefined;
    return (option?.series ?? []).map((series) => ({
      id: String(series["id"] ?? ""),
      name: String(series["name"] ?? ""),
      type: String(series["type"]),
      panel: Number(series["xAxisIndex"] ?? 0),
      color: String(series["color"] ?? ""),
      data: ((series["data"] as unknown[] | undefined) ?? []).map((point) => (point as { value?: unknown } | null)?.value ?? point),
    }));
  }, id);
}

/** A text in a chart, and where it is, in pixels of the chart. */
export interface Label {
  text: string;
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** The texts of a chart that can be seen, and its size. */
export function labelsOf(page: Page, id: string): Promise<{ width: number; height: number; labels: Label[] }> {
  return page.evaluate((id) => {
    interface Shape {
      type: string;
      invisible: boolean;
      style: { text?: string; opacity?: number };
      transform: number[] | null;
      getBoundingRect(): { x: number; y: number; width: number; height: number };
    }
    const chart = window.dyno?.charts.get(id);
    if (chart === undefined) throw new Error(`${id} is not drawn`);
    const shapes = (chart.getZr() as unknown as { storage: { getDisplayList(update: boolean): Shape[] } }).storage.getDisplayList(true);
    const texts = shapes.filter(({ type, invisible, style }) => type === "tspan" && !invisible && style.opacity !== 0 && style.text?.trim());
    const labels = texts.map((shape) => {
      const { x, y, width, height } = shape.getBoundingRect();
      const [a = 1, b = 0, c = 0, d = 1, e = 0, f = 0] = shape.transform ?? [];
      const corners = [[x, y], [x + width, y], [x, y + height], [x + width, y + height]] as [number, number][];
      const xs = corners.map(([x, y]) => a * x + c * y + e);
      const ys = corners.map(([x, y]) => b * x + d * y + f);
      return { text: shape.style.text ?? "", left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
    });
    return { width: chart.getWidth(), height: chart.getHeight(), labels };
  }, id);
}

/** Where a chart's first panel is, in pixels of the window. */
export async function panelOf(page: Page, id: string): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await page.locator(`figure.chart[data-figure="${id}"] .plot`).boundingBox();
  if (box === null) throw new Error(`${id} cannot be seen`);
  const grid = await page.evaluate((id) => {
    const option = window.dyno?.charts.get(id)?.getOption() as { grid: { left: number; right: number; top: number; height: number }[] };
    return option.grid[0];
  }, id);
  if (grid === undefined) throw new Error(`${id} has no panel`);
  return { x: box.x + grid.left, y: box.y + grid.top, width: box.width - grid.left - grid.right, height: grid.height };
}

/** A part of a chart, in pixels. */
export type Box = Omit<Label, "text">;

/** The different colours in parts of a chart, as numbers of red, green and blue, the commonest first. */
export function pixelsOf(page: Page, id: string, boxes: Box[]): Promise<number[][]> {
  return page.evaluate(
    ({ id, boxes }) => {
      const drawn = window.dyno?.charts.get(id)?.getDom().querySelector("canvas");
      const copy = document.createElement("canvas");
      // A canvas that is read often is another than one that is drawn on.
      const pen = copy.getContext("2d", { willReadFrequently: true });
      if (!drawn || !pen) throw new Error(`${id} has no canvas`);
      [copy.width, copy.height] = [drawn.width, drawn.height];
      pen.fillStyle = getComputedStyle(document.body).backgroundColor;
      pen.fillRect(0, 0, copy.width, copy.height);
      pen.drawImage(drawn, 0, 0);
      const scale = drawn.width / drawn.clientWidth;
      return boxes.map(({ left, top, right, bottom }) => {
        const size = [right - left, bottom - top].map((length) => Math.max(1, Math.floor(length * scale))) as [number, number];
        const { data } = pen.getImageData(left * scale, top * scale, ...size);
        const counts = new Map<number, number>();
        for (let at = 0; at < data.length; at += 4) {
          const color = ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0);
          counts.set(color, (counts.get(color) ?? 0) + 1);
        }
        return [...counts].sort(([, one], [, other]) => other - one).map(([color]) => color);
      });
    },
    { id, boxes },
  );
}
