// What the server tells the live page: crates/dyno-serve/src/live writes it.

import type { Figure, Mark, Span } from "../model";

/** All that is known so far. */
export interface Snapshot {
  status: Status;
  figures: Figure[];
}

/** What is new since the last message. */
export interface Update {
  status: Status;
  changes: Change[];
}

/** Where the campaign is. All texts are as they are shown; what is not known is empty. */
export interface Status {
  state: "preparing" | "running" | "ended";
  what: string;
  /** How much of the run is over, from 0 to 1. */
  progress: number | null;
  phase: string;
  elapsed: string;
  left: string;
  tps: string;
  p50: string;
  p99: string;
  transactions: string;
  errors: string;
  workloads: Workload[];
  warnings: string[];
}

export interface Workload {
  name: string;
  clients: string;
  tps: string;
  p50: string;
  p95: string;
  p99: string;
  errors: string;
}

/** How a figure becomes the present one: it is another, or its timeline has grown. */
export type Change = { change: "whole"; figure: Figure } | ({ change: "grown" } & Growth);

export interface Growth {
  id: string;
  caption: string;
  end_s: number;
  series: SeriesGrowth[];
  spans: Span[];
  /** How many marks stay. */
  marks_kept: number;
  /** Those after them. */
  marks: Mark[];
}

export interface SeriesGrowth {
  /** The lane's position. */
  lane: number;
  /** The position in the lane. */
  series: number;
  /** How many steps stay. */
  kept: number;
  /** Those after them. */
  mean: (number | null)[];
  min: (number | null)[];
  max: (number | null)[];
}
