// A report's page: draws the figures that come into sight, and gives each its buttons. All else is plain HTML and works without this.

import { mountFigure } from "./charts";
import { toSvg } from "./charts/picture";
import type { FigureData } from "./model";
import { toCsv } from "./page/csv";
import { readFigures } from "./page/figures";
import { openFolded } from "./page/folds";
import { saveFile } from "./page/save";
import { markRead } from "./page/contents";
import { themeButton } from "./page/theme";

void start();

async function start(): Promise<void> {
  addThemeButton();
  openFolded();
  markRead();
  const places = [...document.querySelectorAll<HTMLElement>("figure.chart[data-figure]")];
  let figures: Map<string, FigureData>;
  try {
    figures = await readFigures(document);
  } catch {
    for (const place of places) say(place, "This browser cannot draw the chart; the table below holds its figures.");
    return;
  }
  const waiting = new Map<Element, () => void>();
  for (const place of places) {
    const data = figures.get(place.dataset["figure"] ?? "");
    const plot = place.querySelector<HTMLElement>(".plot");
    if (data === undefined || plot === null) continue;
    addButtons(place, data);
    waiting.set(place, () => mountFigure(plot, place.dataset["figure"] ?? "", data));
  }
  mountInSight(waiting);
}

/** Draws figures when they are about to come into sight, and all before the page is printed. */
function mountInSight(waiting: Map<Element, () => void>): void {
  const mount = (place: Element) => {
    const draws = waiting.get(place);
    waiting.delete(place);
    draws?.();
  };
  const sight = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        sight.unobserve(target);
        mount(target);
      }
    },
    { rootMargin: "600px" },
  );
  for (const place of waiting.keys()) sight.observe(place);
  // Figures draw themselves for paper when they hear of it; those that are new must be there before.
  window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(mount), { capture: true });
}

function addThemeButton(): void {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";
  document.querySelector("header.report")?.append(button);
  themeButton(button);
}

function addButtons(place: HTMLElement, data: FigureData): void {
  const id = place.dataset["figure"] ?? "figure";
  const tools = document.createElement("div");
  tools.className = "tools";
  const add = (label: string, act: () => void) => {
    const button = tools.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", act);
  };
  add("Save SVG", () => {
    const title = place.dataset["title"] ?? id;
    const caption = place.querySelector("figcaption")?.textContent ?? "";
    saveFile(`${id}.svg`, "image/svg+xml", toSvg({ id, title, caption, data, table: null }, 900, "light"));
  });
  add("Save data (CSV)", () => saveFile(`${id}.csv`, "text/csv", toCsv(data)));
  place.querySelector("figcaption")?.after(tools);
}

function say(place: HTMLElement, words: string): void {
  const plot = place.querySelector(".plot");
  if (plot) plot.textContent = words;
}
