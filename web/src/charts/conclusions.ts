// What a line led to: its last value as a point with its range, written beside it.

import type { Lane, Series } from "../model";
import type { CustomSeriesOption } from "./echarts";
import { SMALL, timelineLook, type Theme } from "./look";
import { dot, line, painter, text, type Area, type Shape } from "./painter";
import { BOLD, textWidth } from "./text";
import { number, quantity } from "./units";

const CAP = 5;
const LABEL = 14;

interface Last {
  time_ms: number;
  value: number;
  low: number;
  high: number;
}

/** The last values of a lane's lines of what was known more and more. */
export function conclusions(panel: number, lane: Lane, names: string[], theme: Theme): CustomSeriesOption {
  return painter({ id: `conclusions-${panel}`, panel, z: 4, clip: false }, (panelArea) =>
    lane.series.flatMap((series): Shape[] => {
      const last = series.role === "knowledge" ? lastOf(series) : undefined;
      if (last === undefined) return [];
      const { color } = timelineLook(theme, names.indexOf(series.name), series.role);
      const [x, y, low, high] = [panelArea.atX(last.time_ms), panelArea.atY(last.value), panelArea.atY(last.low), panelArea.atY(last.high)];
      // Zoomed out of sight.
      if (x < panelArea.x - 1 || x > panelArea.x + panelArea.width + 1) return [];
      return [
        line([[x, low], [x, high]], color, 1.5),
        line([[x - CAP, low], [x + CAP, low]], color, 1.5),
        line([[x - CAP, high], [x + CAP, high]], color, 1.5),
        dot(x, y, 4, color),
        label(last, lane.unit, x, low, high, panelArea, theme),
      ];
    }),
  );
}

function lastOf({ first_s, step_s, mean, min, max }: Series): Last | undefined {
  const index = mean.length - 1;
  const [value, low, high] = [mean[index] ?? null, min[index] ?? null, max[index] ?? null];
  if (value === null || low === null || high === null) return undefined;
  return { time_ms: Math.round((first_s + (index + 0.5) * step_s) * 1000), value, low, high };
}

/** Above the range or beneath it, where no line of the panel's own can be; between its ends if it has the whole panel. */
function label(last: Last, unit: string, x: number, low: number, high: number, { x: left, y: top, width, height }: Area, theme: Theme): Shape {
  const words = `${quantity(last.value, unit)} (${number(last.low)} to ${number(last.high)})`;
  const needed = textWidth(words, SMALL * BOLD);
  const hasRoomAbove = high - top >= LABEL;
  const hasRoomBelow = top + height - low >= LABEL;
  const y = hasRoomAbove ? high - LABEL / 2 - 1 : hasRoomBelow ? low + LABEL / 2 + 2 : top + LABEL / 2;
  // Beside the whisker if it reaches from edge to edge.
  const end = hasRoomAbove || hasRoomBelow ? x + CAP : x - CAP - 3;
  const start = Math.max(left + 2, Math.min(end, left + width + CAP) - needed);
  return text(start, y, words, theme.text, "left", "middle", SMALL, "bold", theme.background);
}
