// The data of a figure as CSV: a row per value.
//
// Names come from scripts and servers. A spreadsheet takes text that begins with one of =+-@, a tab or a line break for a formula, so such text gets an
// apostrophe before it, which spreadsheets show as text (OWASP, "CSV Injection"). Numbers stay as they are.

import type { FigureData } from "../model";

type Cell = string | number | null;

export function toCsv(data: FigureData): string {
  return rowsOf(data)
    .map((row) => `${row.map(field).join(",")}\r\n`)
    .join("");
}

function field(cell: Cell): string {
  const text = typeof cell === "string" && /^[=+\-@\t\r\n]/.test(cell) && !isNumber(cell) ? `'${cell}` : String(cell ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** Whether text is a number, as levels of factors may be: "-1", "1e6". */
function isNumber(text: string): boolean {
  return text.trim() !== "" && Number.isFinite(Number(text));
}

function rowsOf(data: FigureData): Cell[][] {
  switch (data.kind) {
    case "timeline":
      return [
        ["start_s", "end_s", "what", "name", "unit", "mean", "min", "max"],
        ...data.lanes.flatMap((lane) =>
          lane.series.flatMap(({ name, first_s, step_s, mean, min, max }) =>
            mean.map((value, step): Cell[] => {
              const start = first_s + step * step_s;
              return [Math.max(data.start_s, start), start + step_s, lane.title, name, lane.unit, value, min[step] ?? null, max[step] ?? null];
            }),
          ),
        ),
        ...[...data.spans, ...data.marks].map(({ start_s, end_s, kind, label }): Cell[] => [start_s, end_s, kind, label, "", null, null, null]),
      ];
    case "heat_map":
      return [
        ["start_s", "end_s", "low_us", "high_us", "transactions_per_s"],
        ...data.counts.flatMap((column, index) =>
          column.map((rate, row): Cell[] => {
            const start = data.first_s + index * data.step_s;
            return [Math.max(data.start_s, start), start + data.step_s, data.bounds_us[row] ?? null, data.bounds_us[row + 1] ?? null, rate];
          }),
        ),
      ];
    case "percentiles":
      return [
        ["name", "percentile", "latency_us"],
        ...data.curves.flatMap((curve) => curve.percentile.map((percentile, index): Cell[] => [curve.name, percentile, curve.latency_us[index] ?? null])),
      ];
    case "sweep":
      return [
        [data.factor, "measure", "unit", "name", "value", "low", "high"],
        ...data.panels.flatMap((panel) =>
          panel.lines.flatMap((line) =>
            line.points.map(({ level, value, low, high }): Cell[] => [level, panel.title, panel.unit, line.name, value, low, high]),
          ),
        ),
      ];
    case "bars":
      return [
        ["group", "name", "unit", "value", "low", "high"],
        ...data.categories.flatMap((category, index) =>
          data.series.map(({ name, values, low, high }): Cell[] => [
            category,
            name,
            data.unit,
            values[index] ?? null,
            low[index] ?? null,
            high[index] ?? null,
          ]),
        ),
      ];
    case "matrix":
      return [
        [data.row_factor, data.column_factor, "value", "interval", "unproven"],
        ...data.cells.flatMap((row, index) =>
          row.map(({ value, interval, unproven }, column): Cell[] => [
            data.rows[index] ?? "",
            data.columns[column] ?? "",
            value,
            interval,
            String(unproven),
          ]),
        ),
      ];
  }
}
