// The figures of the live page. Only those in sight are drawn, and none while nobody sees the page.

import { mountFigure, type FigureHandle } from "../charts";
import type { Figure } from "../model";

interface Place {
  element: HTMLElement;
  plot: HTMLElement;
  caption: HTMLElement;
  figure: Figure;
  handle?: FigureHandle;
  inSight: boolean;
  /** Whether it is drawn as it is now. */
  fresh: boolean;
}

/** Figures below each other. */
export class Gallery {
  private readonly places = new Map<string, Place>();
  private readonly sight: IntersectionObserver;

  constructor(private readonly container: HTMLElement) {
    this.sight = new IntersectionObserver(
      (entries) => {
        for (const { isIntersecting, target } of entries) {
          const place = this.places.get((target as HTMLElement).dataset["figure"] ?? "");
          if (place === undefined) continue;
          place.inSight = isIntersecting;
          this.draw(place);
        }
      },
      { rootMargin: "300px" },
    );
    document.addEventListener("visibilitychange", () => this.places.forEach((place) => this.draw(place)));
  }

  /** Shows these figures and no others. */
  showAll(figures: readonly Figure[]): void {
    const wanted = new Set(figures.map((figure) => figure.id));
    for (const [id, place] of this.places) {
      if (wanted.has(id)) continue;
      place.handle?.dispose();
      this.sight.unobserve(place.element);
      place.element.remove();
      this.places.delete(id);
    }
    for (const figure of figures) this.show(figure);
    // What is new may belong between what was there.
    for (const figure of figures) {
      const element = this.places.get(figure.id)?.element;
      if (element !== undefined && this.container.lastElementChild !== element) this.container.append(element);
    }
  }

  /** Shows a figure, or what has become of it. */
  show(figure: Figure): void {
    const place = this.places.get(figure.id) ?? this.add(figure);
    place.figure = figure;
    place.fresh = false;
    place.plot.setAttribute("aria-label", `${figure.title}. ${figure.caption}`);
    place.caption.textContent = figure.caption;
    this.draw(place);
  }

  private add(figure: Figure): Place {
    const element = document.createElement("figure");
    element.className = "chart";
    element.dataset["figure"] = figure.id;
    const plot = element.appendChild(document.createElement("div"));
    plot.className = "plot";
    plot.setAttribute("role", "img");
    const text = element.appendChild(document.createElement("figcaption"));
    text.appendChild(document.createElement("strong")).textContent = figure.title;
    const caption = text.appendChild(document.createElement("span"));
    const place: Place = { element, plot, caption, figure, inSight: false, fresh: false };
    this.places.set(figure.id, place);
    this.container.append(element);
    this.sight.observe(element);
    return place;
  }

  private draw(place: Place): void {
    if (place.fresh || !place.inSight || document.hidden) return;
    if (place.handle === undefined) place.handle = mountFigure(place.plot, place.figure.id, place.figure.data);
    else place.handle.update(place.figure.data);
    place.fresh = true;
  }
}
