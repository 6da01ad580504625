// Which look each line of a timeline has: one name looks the same in all panels, and in all figures that share names.

import type { Lane, Timeline } from "../model";

/** Of each lane the names whose places are the numbers of their looks: of all lanes that have a name in common, those of all of them. */
export function sharedNames({ lanes, names }: Timeline): string[][] {
  return lanes.map((lane) => {
    const own = namesOf(lane);
    if (own.some((name) => names.includes(name))) return [...new Set([...names, ...own])];
    let known: string[] = own;
    for (;;) {
      const like = lanes.map(namesOf).filter((others) => others.some((name) => known.includes(name)));
      const all = [...new Set(like.flat())];
      if (all.length === known.length) return all;
      known = all;
    }
  });
}

function namesOf(lane: Lane): string[] {
  return lane.series.map(({ name }) => name);
}
