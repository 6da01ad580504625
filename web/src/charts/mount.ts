// A figure in a page: drawn into an element, drawn again when the data, the room or the theme change.

import { AxisPointerComponent, DataZoomInsideComponent, DataZoomSliderComponent, ToolboxComponent, TooltipComponent } from "echarts/components";
import { use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

import type { FigureData } from "../model";
import { currentTheme, onThemeChange } from "../page/theme";
import { draw } from "./draw";
import { init, type EChartsType } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { linkTime } from "./link";
import { THEMES } from "./look";

use([AxisPointerComponent, CanvasRenderer, DataZoomInsideComponent, DataZoomSliderComponent, ToolboxComponent, TooltipComponent]);

/** The width of a figure on a sheet of A4, and of one of two beside each other: by the margins and the `zoom` of style.css. */
const PRINT_WIDTH = 950;
const SMALL_PRINT_WIDTH = 464;
const BARS_PRINT_WIDTH = 306;

/** A figure in a page. */
export interface FigureHandle {
  /** Draws other data, keeping what is zoomed and what is switched off in the legend. Cheap enough for every second. */
  update(data: FigureData): void;
  /** Takes the figure out of the page. */
  dispose(): void;
}

declare global {
  interface Window {
    /** The figures of the page by their ids, for tests and for the curious. */
    dyno?: { charts: Map<string, EChartsType> };
  }
}

/** The figures of the page by their ids. */
export const charts = new Map<string, EChartsType>();
/** What draws each figure anew, for paper or for the screen. */
const redraws = new Set<() => void>();
let isPrinting = false;

if (typeof window !== "undefined") {
  window.dyno = { charts };
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
}

function print(begins: boolean): void {
  isPrinting = begins;
  for (const redraw of redraws) redraw();
}

/** Draws a figure into an element, which gets the height that the figure needs. */
export function mountFigure(element: HTMLElement, figureId: string, data: FigureData): FigureHandle {
  const printWidth = element.closest(".small") === null ? PRINT_WIDTH : data.kind === "bars" ? BARS_PRINT_WIDTH : SMALL_PRINT_WIDTH;
  let figure = data;
  let chart: EChartsType | undefined;
  let drawing: Drawing | undefined;
  let shape = "";
  let unlink = () => {};

  const show = () => {
    const width = isPrinting ? printWidth : element.clientWidth;
    if (width === 0) return;
    const theme = isPrinting ? "print" : currentTheme();
    const frame = { width, theme: THEMES[theme], interactive: !isPrinting };
    drawing = draw(figure, frame);
    if (isPrinting) drawing = flattened(figure, frame, drawing);
    element.style.height = `${drawing.height}px`;
    if (chart === undefined) {
      // Text stays sharp on paper as SVG; on screens canvases are faster with many points.
      chart = init(element, null, { renderer: isPrinting ? "svg" : "canvas", width, height: drawing.height });
      charts.set(figureId, chart);
      shape = "";
      unlink = linkTime(chart, () => drawing?.time);
      showAllOnDoubleClick(chart);
    } else {
      chart.resize({ width, height: drawing.height });
    }
    // What has the same parts is merged, so that zoom and legend stay as they are.
    const nextShape = shapeOf(drawing);
    chart.setOption(drawing.option, { notMerge: nextShape !== shape });
    if (nextShape !== shape && drawing.time && !isPrinting && !isTouched()) selectByDragging(chart);
    shape = nextShape;
  };
  const hide = () => {
    unlink();
    chart?.dispose();
    chart = undefined;
    charts.delete(figureId);
  };
  const redraw = () => {
    hide();
    show();
  };

  show();
  let lastWidth = element.clientWidth;
  const resizing = new ResizeObserver(() => {
    if (isPrinting || element.clientWidth === lastWidth) return;
    lastWidth = element.clientWidth;
    show();
  });
  resizing.observe(element);
  const stopTheme = onThemeChange(show);
  redraws.add(redraw);

  return {
    update: (next) => {
      figure = next;
      show();
    },
    dispose: () => {
      resizing.disconnect();
      stopTheme();
      redraws.delete(redraw);
      hide();
    },
  };
}

/** A figure for paper: no higher than it must be to be read, where its panels may be of any height. */
function flattened(figure: FigureData, frame: Frame, drawing: Drawing): Drawing {
  const further = list(drawing.option.grid).length - 1;
  const first = figure.kind === "percentiles" ? 280 : figure.kind === "bars" ? 240 : 180;
  const most = frame.width === PRINT_WIDTH ? 310 + 110 * further : first + 45 * further;
  const isUpright = figure.kind === "bars" && list(drawing.option.xAxis).some(({ type }) => type === "category");
  const mayBe = isUpright || ["timeline", "sweep", "percentiles"].includes(figure.kind);
  return mayBe && drawing.height > most ? draw(figure, { ...frame, height: most }) : drawing;
}

/** What ECharts' parts are called, and how many there are: as long as it is the same, new data can be merged. */
function shapeOf({ option }: Drawing): string {
  const series = list(option.series).map((one) => `${one.type} ${one.id ?? ""} ${one.name ?? ""}`);
  return JSON.stringify([list(option.grid).length, list(option.title).length, list(option.legend).map(({ data }) => data), series]);
}

function list<T>(some: T | T[] | undefined): T[] {
  return some === undefined ? [] : Array.isArray(some) ? some : [some];
}

/** On a touch screen a drag scrolls the page. */
function isTouched(): boolean {
  return window.matchMedia("(pointer: coarse)").matches;
}

/** Lets dragging select a stretch of time to zoom to. */
function selectByDragging(chart: EChartsType): void {
  chart.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
}

function showAllOnDoubleClick(chart: EChartsType): void {
  chart.getZr().on("dblclick", () => chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, start: 0, end: 100 }));
}
