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
  const connect = () => {
    const source = new EventSource(address);
    source.addEventListener("snapshot", ({ data }) => {
      begin(JSON.parse(data) as Snapshot);
      showConnection("live");
    });
    source.addEventListener("update", ({ data }) => {
      const update = JSON.parse(data) as Update;
      showStatus(update.status);
      const known = figures.size;
      const changed = apply(figures, update.changes);
      if (figures.size === known) changed.forEach((figure) => gallery.show(figure));
      else gallery.showAll([...figures.values()]);
    });
    source.addEventListener("ended", ({ data }) => {
      source.close();
      begin(JSON.parse(data) as Snapshot);
      showConnection("ended");
    });
    source.addEventListener("error", () => {
      showConnection("reconnecting");
      // Browsers connect again after a lost connection, but not after an answer that is no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(connect, AGAIN_MS);
    });
  };
  showConnection("connecting");
  connect();
}
