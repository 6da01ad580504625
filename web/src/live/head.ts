// The head of the live page: where the campaign is, in words and figures.

import type { Status, Workload } from "./messages";

/** How the page hears of what is new. */
export type Connection = "connecting" | "live" | "reconnecting" | "ended";

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: "connecting…",
  live: "live",
  reconnecting: "reconnecting…",
  ended: "ended",
};

/** Says whether what is shown is of now. */
export function showConnection(connection: Connection): void {
  const place = element("connection");
  place.textContent = CONNECTIONS[connection];
  place.dataset["state"] = connection;
  element("lost").hidden = connection !== "reconnecting";
}

/** Says where the campaign is. */
export function showStatus(status: Status): void {
  // Of a single run there is nothing to say.
  element("what").textContent = status.what;
  const texts = {
    tps: status.tps,
    p50: status.p50,
    p99: status.p99,
    errors: status.errors,
    transactions: status.transactions,
    phase: status.phase,
    elapsed: status.elapsed,
    left: status.left,
  };
  for (const [id, text] of Object.entries(texts)) element(id).textContent = text || "–";
  element("ended").hidden = status.state !== "ended";
  const progress = element("progress") as HTMLProgressElement;
  progress.hidden = status.progress === null || status.state !== "running";
  progress.value = status.progress ?? 0;
  showWorkloads(status.workloads);
  showWarnings(status.warnings);
  const campaign = element("live").dataset["campaign"] ?? "";
  document.title = status.state === "running" && status.tps ? `${status.tps} TPS · ${campaign}` : `${campaign} · dyno`;
}

/** One workload is told by the figures above. */
function showWorkloads(workloads: readonly Workload[]): void {
  element("workloads").hidden = workloads.length < 2;
  const rows = workloads.map(({ name, clients, tps, p50, p95, p99, errors }) => {
    const row = document.createElement("tr");
    for (const [index, text] of [name, clients, tps, p50, p95, p99, errors].entries()) {
      const cell = row.appendChild(document.createElement(index === 0 ? "th" : "td"));
      cell.textContent = text;
      if (index > 0) cell.className = "number";
    }
    return row;
  });
  element("workload-rows").replaceChildren(...rows);
}

function showWarnings(warnings: readonly string[]): void {
  element("warnings").hidden = warnings.length === 0;
  const items = warnings.map((warning) => {
    const item = document.createElement("li");
    item.textContent = warning;
    return item;
  });
  element("warning-items").replaceChildren(...items);
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}
