// Two factors against each other: a cell per combination, with its value in it. What is not significant is grey and hatched; what the others are compared
// with has a frame.

import type { Matrix, MatrixCell } from "../model";
import type { CustomSeriesOption, Option } from "./echarts";
import type { Drawing, Frame } from "./frame";
import { tooltip } from "./interaction";
import { FONT, SMALL, type Theme } from "./look";
import { group, line, painter, rect, text, type Shape } from "./painter";
import { stack, withUnit, type Panel } from "./panels";
import type { Readout } from "./readout";
import { cut, squeezed, textWidth } from "./text";
import { number, quantity, tickLabel } from "./units";

const ROW = 34;
/** A column that is as wide as this can be read. */
const COLUMN = 80;
const RIGHT = 8;
/** The height of an explanation beneath the cells. */
const KEY = 18;
/** Ratios are shaded fully from this on at the latest. */
const LEAST_SPAN = 1.1;

export function matrix(data: Matrix, frame: Frame): Drawing {
  const { theme } = frame;
  const longest = Math.max(textWidth(data.row_factor, SMALL), ...data.rows.map((row) => textWidth(row, SMALL)));
  // Names have what the columns do not need.
  const left = Math.min(longest + 14, Math.max(frame.width * 0.36, frame.width - RIGHT - data.columns.length * COLUMN));
  const keys = keysOf(data);
  const panel: Panel = { heading: withUnit(data.title, data.unit), legend: [], drawn: "areas", labels: 40, height: Math.max(1, data.rows.length) * ROW };
  const layout = stack([panel], frame, { left, right: RIGHT }, keys.length > 0 ? 10 + keys.length * KEY : 6);
  const readout = matrixReadout(data);
  const column = (frame.width - left - RIGHT) / Math.max(1, data.columns.length);
  const option: Option = {
    animation: false,
    title: layout.titles,
    grid: layout.grids,
    xAxis: {
      type: "category",
      position: "top",
      data: data.columns.map((name) => squeezed(name, SMALL, column - 4)),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { color: theme.text, fontFamily: FONT, fontSize: SMALL, interval: 0 },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: data.rows.map((name) => squeezed(name, SMALL, left - 14)),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { color: theme.text, fontFamily: FONT, fontSize: SMALL, interval: 0 },
    },
    series: [cells(data, theme), factors(data, left, keys, theme)],
    ...tooltip(frame, "item", readout),
  };
  return { option, height: layout.height, readout };
}

function cells(data: Matrix, theme: Theme): CustomSeriesOption {
  const shade = shades(data, theme);
  return {
    type: "custom",
    id: "cells",
    animation: false,
    data: data.cells.flatMap((row, index) => row.map((cell, column) => [column, index, cell.value ?? NaN])),
    renderItem: (_, api) => {
      const [column, row] = [Number(api.value(0)), Number(api.value(1))];
      const cell = data.cells[row]?.[column];
      const [x = 0, y = 0] = api.coord([column, row]);
      const size = api.size?.([1, 1]);
      const [width = 0, height = 0] = Array.isArray(size) ? size : [];
      const [left, top] = [Math.round(x - width / 2) + 1, Math.round(y - height / 2) + 1];
      const children = cell === undefined ? [] : cellShapes(cell, column, { left, top, width: Math.round(width) - 2, height: Math.round(height) - 2 });
      return group(children);
    },
  };

  /** By which a cell is shaded: a ratio of what should be small is as good as its inverse. */
  function goodness(value: number, column: number): number {
    return data.less_is_better[column] ? 1 / value : value;
  }

  function cellShapes(cell: MatrixCell, column: number, box: Box): Shape[] {
    const { left, top, width, height } = box;
    const isGrey = cell.unproven || cell.value === null;
    const frame = cell.baseline ? theme.text : "none";
    const fill = isGrey ? theme.grid : shade(goodness(cell.value ?? 0, column));
    const label = cell.value === null ? "–" : data.ratio ? ratioText(cell.value) : tickLabel(cell.value, data.unit);
    const size = [12, SMALL, 10, 9].find((one) => textWidth(label, one) <= width - 4);
    return [
      rect(left, top, width, height, fill, frame),
      ...(cell.unproven ? hatch(box, theme) : []),
      ...(size === undefined ? [] : [text(left + width / 2, top + height / 2, label, isGrey ? theme.muted : inkOn(fill), "center", "middle", size)]),
    ];
  }
}

interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** The colour of a value: of a ratio by how far it is from 1, to both sides alike. */
function shades(data: Matrix, theme: Theme): (value: number) => string {
  const values = data.cells.flatMap((row) => row.flatMap(({ value, unproven }) => (value === null || unproven ? [] : [value])));
  const pick = (colors: readonly string[], share: number) =>
    colors[Math.max(0, Math.min(colors.length - 1, Math.round(share * (colors.length - 1))))] ?? theme.grid;
  if (data.ratio) {
    const span = Math.log(Math.max(LEAST_SPAN, ...values.map((value) => Math.max(value, 1 / value))));
    return (value) => pick(theme.diverging, Number.isFinite(span) ? 0.5 + Math.log(Math.max(value, 1e-9)) / span / 2 : 0.5);
  }
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => pick(theme.heat, high > low ? (value - low) / (high - low) : 0);
}

/** Slanting lines over a cell, ending at its edges. */
function hatch({ left, top, width, height }: Box, theme: Theme): Shape[] {
  const lines: Shape[] = [];
  for (let offset = 8; offset < width + height; offset += 8) {
    const from = [left + Math.min(offset, width), top + Math.max(0, offset - width)];
    const to = [left + Math.max(0, offset - height), top + Math.min(offset, height)];
    lines.push(line([from, to], theme.axis, 0.5));
  }
  return lines;
}

/** Black or white, whichever is easier to read on a colour. */
function inkOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#1b1f24" : "#ffffff";
}

/** What is to be explained of how cells look. */
function keysOf(data: Matrix): { words: string; isHatched: boolean }[] {
  const has = (is: (cell: MatrixCell) => boolean) => data.cells.some((row) => row.some(is));
  return [
    ...(has(({ baseline }) => baseline) ? [{ words: "the baseline", isHatched: false }] : []),
    ...(has(({ unproven }) => unproven) ? [{ words: "not significant: too few runs, or no difference", isHatched: true }] : []),
  ];
}

/** The names of the factors beside their levels, and what frames and hatching mean. */
function factors(data: Matrix, left: number, keys: ReturnType<typeof keysOf>, theme: Theme): CustomSeriesOption {
  return painter({ id: "factors", panel: 0, z: 3, clip: false }, ({ x, y, width, height }) => [
    text(x - 8, y - 14, cut(data.row_factor, SMALL, left - 8), theme.muted, "right"),
    text(x + width / 2, y - 32, cut(data.column_factor, SMALL, width), theme.muted, "center"),
    ...keys.flatMap(({ words, isHatched }, index) => {
      const top = y + height + 8 + index * KEY;
      const look = isHatched ? [rect(x, top, 18, 12, theme.grid), ...hatch({ left: x, top, width: 18, height: 12 }, theme)] : [rect(x, top, 18, 12, "none", theme.text)];
      return [...look, text(x + 24, top + 6, cut(words, SMALL, width - 24), theme.muted)];
    }),
  ]);
}

function ratioText(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

function matrixReadout(data: Matrix): Readout {
  return ({ dataIndex }) => {
    const columns = data.columns.length;
    const [row, column] = [Math.floor(dataIndex / columns), dataIndex % columns];
    const cell = data.cells[row]?.[column];
    if (cell === undefined) return undefined;
    const value = cell.value === null ? "not measured" : data.ratio ? `${number(cell.value)} times` : quantity(cell.value, data.unit);
    const lines = [
      { name: data.row_factor, value: data.rows[row] ?? "" },
      { name: data.column_factor, value: data.columns[column] ?? "" },
      ...(cell.interval === "" ? [] : [{ name: "interval", value: cell.interval }]),
      ...(cell.baseline ? [{ name: "This is the baseline." }] : []),
      ...(cell.unproven ? [{ name: "Not significantly different from the baseline." }] : []),
    ];
    return { heading: value, lines };
  };
}
