// Figures of a report as charts, whatever their kind.

import type { FigureData } from "../model";
import { bars } from "./bars";
import type { Drawing, Frame } from "./frame";
import { heatMap } from "./heatmap";
import { matrix } from "./matrix";
import { percentiles } from "./percentiles";
import { sweep } from "./sweep";
import { timeline } from "./timeline";

/** Turns a figure's data into what ECharts draws. */
export function draw(data: FigureData, frame: Frame): Drawing {
  switch (data.kind) {
    case "timeline":
      return timeline(data, frame);
    case "heat_map":
      return heatMap(data, frame);
    case "percentiles":
      return percentiles(data, frame);
    case "sweep":
      return sweep(data, frame);
    case "bars":
      return bars(data, frame);
    case "matrix":
      return matrix(data, frame);
    default:
      throw new Error(`there is no chart for figures of the kind ${JSON.stringify((data as { kind: unknown }).kind)}`);
  }
}
