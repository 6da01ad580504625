// Figures over the same stretch of time zoom and point together. Not by ECharts' `connect`, which matches axes by their numbers: figures have
// differing numbers of panels, and may show differing stretches.

import type { EChartsType } from "./echarts";
import type { TimeAxis } from "./frame";

interface Linked {
  chart: EChartsType;
  /** What it shows now. */
  time: () => TimeAxis | undefined;
}

const linked = new Set<Linked>();
/** Whether what happens is caused by what happened in another figure. */
let isEcho = false;

/** Links a figure with those of its group, until the function that is returned is called. */
export function linkTime(chart: EChartsType, time: () => TimeAxis | undefined): () => void {
  const self: Linked = { chart, time };
  linked.add(self);
  chart.on("datazoom", (event) => zoomOthers(self, event as ZoomEvent));
  chart.on("updateAxisPointer", (event) => pointOthers(self, event as PointerEvent));
  return () => linked.delete(self);
}

interface Zoom {
  start?: number;
  end?: number;
  startValue?: number;
  endValue?: number;
}

type ZoomEvent = Zoom & { batch?: Zoom[] };

interface PointerEvent {
  axesInfo?: { axisDim: string; value: number }[];
}

function zoomOthers(self: Linked, event: ZoomEvent): void {
  const axis = self.time();
  if (isEcho || axis === undefined) return;
  const { start, end, startValue, endValue } = event.batch?.[0] ?? event;
  const at = (percent: number) => 1000 * (axis.start_s + ((axis.end_s - axis.start_s) * percent) / 100);
  const range = [startValue ?? at(start ?? 0), endValue ?? at(end ?? 100)] as const;
  others(self, axis, (chart) => chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: range[0], endValue: range[1] }));
}

function pointOthers(self: Linked, event: PointerEvent): void {
  const axis = self.time();
  if (isEcho || axis === undefined) return;
  const pointed = event.axesInfo?.find(({ axisDim }) => axisDim === "x");
  others(self, axis, (chart, top) => {
    // ECharts takes a place in pixels. What would show the values beside it goes nowhere: they are shown where somebody points.
    const place = pointed === undefined ? { currTrigger: "leave" } : { x: chart.convertToPixel({ xAxisIndex: 0 }, pointed.value), y: top + 1 };
    chart.dispatchAction({ type: "updateAxisPointer", ...place, dispatchAction: () => {} });
  });
}

/** Does something with the other figures of a group; those without one are on their own. */
function others(self: Linked, axis: TimeAxis, act: (chart: EChartsType, top: number) => void): void {
  isEcho = true;
  try {
    for (const other of linked) {
      const shown = other.time();
      if (other !== self && shown?.group === axis.group && axis.group !== "") act(other.chart, shown.top);
    }
  } finally {
    isEcho = false;
  }
}
