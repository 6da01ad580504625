// The live page of a campaign: hears from the server what is new, and shows it.
//
// After every interruption the server begins with all that is known, so nothing is lost by one.

import { apply } from "./live/apply";
import { Gallery } from "./live/gallery";
import { showConnection, showStatus } from "./live/head";
import type { Snapshot, Update } from "./live/messages";
import type { Figure } from "./model";
import { themeButton } from "./page/theme";

/** How long to wait before connecting again where the browser does not do it by itself. */
const AGAIN_MS = 3000;

const page = document.getElementById("live");
const container = document.getElementById("figures");
if (page !== null && container !== null) start(page.dataset["events"] ?? "", new Gallery(container));

function start(address: string, gallery: Gallery): void {
  const button = document.getElementById("theme");
  if (button instanceof HTMLButtonElement) themeButton(button);
  const figures = new Map<string, Figure>();
  const begin = (snapshot: Snapshot) => {
    showStatus(snapshot.status);
    figures.clear();
    for (const figure of snapshot.figures) figures.set(figure.id, figure);
    gallery.showAll(snapshot.figures);
  };
  let source: EventSource | undefined;
  let over = false;
  const connect = () => {
    if (over || document.hidden || (source !== undefined && source.readyState !== EventSource.CLOSED)) return;
    const events = new EventSource(address);
    source = events;
    events.addEventListener("snapshot", ({ data }) => {
      begin(JSON.parse(data) as Snapshot);
      showConnection("live");
    });
    events.addEventListener("update", ({ data }) => {
      const update = JSON.parse(data) as Update;
      showStatus(update.status);
      const known = figures.size;
      const changed = apply(figures, update.changes);
      if (figures.size === known) changed.forEach((figure) => gallery.show(figure));
      else gallery.showAll([...figures.values()]);
    });
    events.addEventListener("ended", ({ data }) => {
      events.close();
      over = true;
      begin(JSON.parse(data) as Snapshot);
      showConnection("ended");
    });
    events.addEventListener("error", () => {
      showConnection("reconnecting");
      // Browsers connect again after a lost connection, but not after an answer that is no stream.
      if (events.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, AGAIN_MS);
    });
  };
  // A browser has six connections for all pages of a server together: one that nobody looks at leaves its own to the others.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) source?.close();
    else connect();
  });
  showConnection("connecting");
  connect();
}
