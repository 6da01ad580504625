// The data of a report's figures, as the page carries it: base64 of gzip of JSON, which is a tenth of the JSON.

import type { FigureData } from "../model";

/** The figures by their ids. Fails if the page is damaged, or the browser too old to unpack it. */
export async function readFigures(page: Document): Promise<Map<string, FigureData>> {
  const packed = page.getElementById("figures")?.textContent?.trim() ?? "";
  if (packed === "") return new Map();
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const figures = (await new Response(unpacked).json()) as Record<string, FigureData>;
  return new Map(Object.entries(figures));
}
