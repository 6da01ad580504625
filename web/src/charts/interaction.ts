// What a figure does when somebody points at it: the same for all kinds.

import type { Option } from "./echarts";
import { FONT, SMALL } from "./look";
import type { Frame } from "./frame";
import { toElement, type Pointed, type Readout } from "./readout";
import { clock } from "./units";

/** Room for the slider beneath figures over time. */
export const SLIDER = 26;

/** What shows the readout: beside a place of an axis, or beside a mark. */
export function tooltip(frame: Frame, trigger: "axis" | "item", readout: Readout): Option {
  if (!frame.interactive) return {};
  return {
    tooltip: {
      trigger,
      confine: true,
      transitionDuration: 0,
      backgroundColor: frame.theme.background,
      borderColor: frame.theme.axis,
      padding: [6, 8],
      textStyle: { color: frame.theme.text, fontFamily: FONT, fontSize: SMALL },
      axisPointer: { type: "line", animation: false },
      formatter: (params) => {
        const pointed = (Array.isArray(params) ? params[0] : params) as Pointed | undefined;
        const told = pointed && readout(pointed);
        return told ? toElement(told) : "";
      },
    },
  };
}

/** Zoom over time: by dragging over a stretch, by the wheel with Ctrl held, by the slider. A double click shows all again, see mount.ts. */
export function timeZoom(frame: Frame, panels: number, left: number, right: number): Option {
  if (!frame.interactive) return {};
  const xAxisIndex = Array.from({ length: panels }, (_, index) => index);
  const { theme } = frame;
  return {
    axisPointer: { link: [{ xAxisIndex: "all" }] },
    dataZoom: [
      { type: "inside", xAxisIndex, zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, moveOnMouseWheel: false, preventDefaultMouseMove: false },
      {
        type: "slider",
        xAxisIndex,
        left,
        right,
        bottom: 4,
        height: 14,
        showDataShadow: false,
        brushSelect: false,
        labelFormatter: (ms: number) => clock(Math.round(ms / 1000)),
        textStyle: { color: theme.muted, fontFamily: FONT, fontSize: SMALL },
        borderColor: theme.grid,
        fillerColor: theme.spans.warmup,
        handleStyle: { color: theme.background, borderColor: theme.axis },
        moveHandleSize: 0,
      },
    ],
    toolbox: {
      // Out of sight: it only makes that dragging selects a stretch.
      left: -100,
      itemSize: 0,
      showTitle: false,
      feature: { dataZoom: { yAxisIndex: false, brushStyle: { color: theme.spans.warmup, borderWidth: 0 } } },
    },
  };
}
