/** What ECharts is told to draw for each kind of chart, and how high it becomes. */

import type { Chart } from "../report/data";
import type { EChartsOption } from "./engine";
import { heatHeight, heatOption } from "./heat";
import { LINES_HEIGHT, linesOption } from "./lines";
import { rankingHeight, rankingOption } from "./ranking";
import { SHARE_HEIGHT, shareOption } from "./share";
import { stackHeight, stackOption } from "./stack";
import type { Theme } from "./theme";

/** `view` is the metric of a heat map or the group of curves. */
export function optionOf(chart: Chart, view: number, theme: Theme): EChartsOption {
  switch (chart.type) {
    case "stack":
      return stackOption(chart, theme);
    case "share":
      return shareOption(chart, theme);
    case "ranking":
      return rankingOption(chart, theme);
    case "heat":
      return heatOption(chart, view, theme);
    case "lines":
      return linesOption(chart, view, theme);
  }
}

export function heightOf(chart: Chart): number {
  switch (chart.type) {
    case "stack":
      return stackHeight(chart);
    case "share":
      return SHARE_HEIGHT;
    case "ranking":
      return rankingHeight(chart);
    case "heat":
      return heatHeight(chart);
    case "lines":
      return LINES_HEIGHT;
  }
}
