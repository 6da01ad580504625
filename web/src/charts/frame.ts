// What a figure is drawn into, and what comes out.

import type { Option } from "./echarts";
import type { Theme } from "./look";
import type { Readout } from "./readout";

/** The room and the manner of a figure. */
export interface Frame {
  /** In pixels. */
  width: number;
  /** In pixels; without it, as high as the figure's panels need. */
  height?: number;
  theme: Theme;
  /** Whether somebody can point at it and zoom it. */
  interactive: boolean;
  /** Written above the figure; pages have it as text beside it. */
  title?: string;
}

/** A figure, ready for ECharts. */
export interface Drawing {
  option: Option;
  /** In pixels. */
  height: number;
  /** What is told of the place that is pointed at. */
  readout: Readout;
  /** The stretch of time on its axis in seconds, of figures over time. */
  time?: TimeAxis;
}

/** The axis of a figure over time. */
export interface TimeAxis {
  group: string;
  start_s: number;
  end_s: number;
  /** Where its first panel begins, in pixels. */
  top: number;
}
