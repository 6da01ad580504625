// The parts of ECharts that figures are drawn with, by whatever draws them. What only a page needs is added in mount.ts.

import { BarChart, CustomChart, LineChart } from "echarts/charts";
import type { BarSeriesOption, CustomSeriesOption, LineSeriesOption } from "echarts/charts";
import { GridComponent, LegendPlainComponent, TitleComponent } from "echarts/components";
import type {
  DataZoomComponentOption,
  GridComponentOption,
  LegendComponentOption,
  TitleComponentOption,
  ToolboxComponentOption,
  TooltipComponentOption,
} from "echarts/components";
import { use } from "echarts/core";
import type { ComposeOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([BarChart, CustomChart, GridComponent, LegendPlainComponent, LineChart, SVGRenderer, TitleComponent]);

export { init } from "echarts/core";
export type { EChartsType } from "echarts/core";
export type { BarSeriesOption, CustomSeriesOption, GridComponentOption, LegendComponentOption, LineSeriesOption, TitleComponentOption };

export type Option = ComposeOption<
  | BarSeriesOption
  | CustomSeriesOption
  | DataZoomComponentOption
  | GridComponentOption
  | LegendComponentOption
  | LineSeriesOption
  | TitleComponentOption
  | ToolboxComponentOption
  | TooltipComponentOption
>;
export type SeriesOption = BarSeriesOption | CustomSeriesOption | LineSeriesOption;
type One<T> = T extends (infer U)[] ? U : T;
type Either<T> = T extends unknown ? Omit<T, "mainType"> : never;
/** A horizontal or vertical axis. */
export type Axis = Either<One<NonNullable<Option["xAxis"]>>>;
