// The charts, for pages.

export { draw } from "./draw";
export { mountFigure, type FigureHandle } from "./mount";
