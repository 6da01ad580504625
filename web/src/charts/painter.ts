// Shapes drawn freely over a panel: bands, shades, bars of events, whiskers. ECharts asks for them anew whenever the axes have changed.

import type { CustomSeriesRenderItemReturn } from "echarts";
import { graphic } from "echarts/core";

import type { CustomSeriesOption } from "./echarts";
import { FONT, SMALL } from "./look";

const TILES = "dynoTiles";

graphic.registerShape(
  TILES,
  graphic.extendShape({
    shape: { tiles: [] as Tile[] },
    buildPath: (path: CanvasRenderingContext2D, shape: { tiles: Tile[] }) => {
      for (const [x, y, width, height] of shape.tiles) path.rect(x, y, width, height);
    },
  }),
);

/** A panel as it is drawn now, in pixels. */
export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
  /** Where a value of the x axis is. */
  atX(value: number): number;
  /** Where a value of the y axis is. */
  atY(value: number): number;
}

/** A shape; all styles are always given, because ECharts keeps those of the shape it replaces. */
export type Shape = RectShape | LineShape | AreaShape | TilesShape | RingShape | TextShape;

interface RectShape {
  type: "rect";
  shape: { x: number; y: number; width: number; height: number };
  style: { fill: string; stroke: string; lineWidth: number };
}

interface LineShape {
  type: "polyline";
  shape: { points: number[][] };
  style: { fill: "none"; stroke: string; lineWidth: number; lineDash: number[] | "solid" };
}

interface AreaShape {
  type: "polygon";
  shape: { points: number[][] };
  style: { fill: string; opacity: number };
}

/** Many rectangles of one colour, which are drawn much faster as one shape. */
interface TilesShape {
  type: typeof TILES;
  shape: { tiles: Tile[] };
  style: { fill: string };
}

/** A rectangle: left, top, width, height. */
export type Tile = readonly [number, number, number, number];

interface RingShape {
  type: "circle";
  shape: { cx: number; cy: number; r: number };
  style: { fill: string; stroke: string; lineWidth: number };
}

interface TextShape {
  type: "text";
  x: number;
  y: number;
  style: {
    text: string;
    fill: string;
    align: "left" | "center" | "right";
    verticalAlign: "top" | "middle" | "bottom";
    fontFamily: string;
    fontSize: number;
    fontWeight: "normal" | "bold";
    /** Around the letters, where they stand on lines. */
    stroke: string;
    lineWidth: number;
  };
}

export function rect(x: number, y: number, width: number, height: number, fill: string, stroke = "none"): RectShape {
  return { type: "rect", shape: { x, y, width, height }, style: { fill, stroke, lineWidth: stroke === "none" ? 0 : 1 } };
}

export function line(points: number[][], stroke: string, lineWidth = 1, lineDash: number[] | "solid" = "solid"): LineShape {
  return { type: "polyline", shape: { points }, style: { fill: "none", stroke, lineWidth, lineDash } };
}

export function area(points: number[][], fill: string, opacity: number): AreaShape {
  return { type: "polygon", shape: { points }, style: { fill, opacity } };
}

export function tiles(all: Tile[], fill: string): TilesShape {
  return { type: TILES, shape: { tiles: all }, style: { fill } };
}

export function ring(cx: number, cy: number, r: number, stroke: string): RingShape {
  return { type: "circle", shape: { cx, cy, r }, style: { fill: "none", stroke, lineWidth: 2 } };
}

/** A filled circle. */
export function dot(cx: number, cy: number, r: number, fill: string): RingShape {
  return { type: "circle", shape: { cx, cy, r }, style: { fill, stroke: "none", lineWidth: 0 } };
}

export function text(
  x: number,
  y: number,
  words: string,
  fill: string,
  align: TextShape["style"]["align"] = "left",
  verticalAlign: TextShape["style"]["verticalAlign"] = "middle",
  fontSize = SMALL,
  fontWeight: TextShape["style"]["fontWeight"] = "normal",
  halo = "none",
): TextShape {
  const style = { text: words, fill, align, verticalAlign, fontFamily: FONT, fontSize, fontWeight, stroke: halo, lineWidth: halo === "none" ? 0 : 2 };
  return { type: "text", x, y, style };
}

/** What a painter is, beside what it draws. */
export interface PainterOption {
  id: string;
  /** Which panel it draws over, from 0. */
  panel: number;
  /** What is drawn later is above; lines of ECharts are at 2. */
  z: number;
  /** Whether it keeps within the panel. */
  clip: boolean;
  /** The series in the legend that it comes and goes with. */
  name?: string;
}

/** A series of ECharts that draws shapes over a panel. */
export function painter(option: PainterOption, draw: (area: Area) => Shape[]): CustomSeriesOption {
  return {
    type: "custom",
    id: option.id,
    ...(option.name === undefined ? {} : { name: option.name }),
    xAxisIndex: option.panel,
    yAxisIndex: option.panel,
    z: option.z,
    clip: option.clip,
    silent: true,
    animation: false,
    tooltip: { show: false },
    // A single item without a place: zooming, which leaves out what is not in sight, keeps it.
    data: [[NaN, NaN]],
    renderItem: (params, api) => {
      const { x, y, width, height } = params.coordSys as unknown as Pick<Area, "x" | "y" | "width" | "height">;
      const at = (position: [number, number], axis: 0 | 1) => api.coord(position)[axis] ?? NaN;
      const shapes = draw({ x, y, width, height, atX: (value) => at([value, 0], 0), atY: (value) => at([0, value], 1) });
      return group(shapes);
    },
  };
}

/** Shapes as ECharts takes them; its types know nothing of shapes that were registered. */
export function group(shapes: Shape[]): CustomSeriesRenderItemReturn {
  return { type: "group", children: shapes } as CustomSeriesRenderItemReturn;
}
