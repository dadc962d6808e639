/** Stacked bars: where each rank's step goes, what each primitive is made of. */

import type { StackChart } from "../report/data";
import { axisText, percentText, quantityText } from "../text/quantities";
import type { EChartsOption, SeriesOption } from "./engine";
import { type Theme, fill, namedRows } from "./theme";
import { tooltipElement, tooltipStyle } from "./tooltip";

const ROWS: readonly (readonly [number, number])[] = [[2, 54], [4, 42], [8, 34]];
const ROW = 28;
const ROWS_IN_SIGHT = 24;
const INSIDE_FROM = 0.09;

export function stackHeight(chart: StackChart): number {
  const rows = Math.min(chart.categories.length, ROWS_IN_SIGHT);
  const row = ROWS.find(([most]) => rows <= most)?.[1] ?? ROW;
  return 30 + rows * row;
}

export function stackOption(chart: StackChart, theme: Theme): EChartsOption {
  const wholes = chart.categories.map((_, row) => total(chart, row));
  const longest = Math.max(...wholes, 1);
  const series = chart.parts.map(
    (part): SeriesOption => ({
      type: "bar",
      name: part.label,
      stack: "whole",
      barMaxWidth: 40,
      barCategoryGap: "25%",
      data: part.values.map((value) => value ?? 0),
      itemStyle: fill(theme, part.kind),
      label: {
        show: true,
        color: theme.colour(`on-${part.kind}`),
        fontSize: 12,
        formatter: (at: { dataIndex: number; value: unknown }) => {
          const value = Number(at.value);
          return value / longest < INSIDE_FROM ? "" : quantityText(value, chart.unit);
        },
      },
      emphasis: { focus: "none" },
    }),
  );
  const many = chart.categories.length > ROWS_IN_SIGHT;
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 8, right: many ? 40 : 22, top: 4, bottom: 4, containLabel: true },
    xAxis: {
      type: "value",
      max: longest,
      axisLabel: { color: theme.soft, formatter: (value: number) => axisText(value, chart.unit), hideOverlap: true },
      splitLine: { lineStyle: { color: theme.line } },
    },
    yAxis: namedRows(theme, chart.categories, 130),
    tooltip: {
      ...tooltipStyle(theme),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (at: unknown) => tip(chart, wholes, (at as { dataIndex: number }[])[0]?.dataIndex ?? 0),
    },
    ...(many
      ? {
          dataZoom: [
            { type: "slider", yAxisIndex: 0, startValue: 0, endValue: ROWS_IN_SIGHT - 1, right: 4, width: 16, showDetail: false },
            { type: "inside", yAxisIndex: 0, zoomOnMouseWheel: false, moveOnMouseWheel: false },
          ],
        }
      : {}),
    series,
  };
}

function total(chart: StackChart, row: number): number {
  return chart.parts.reduce((sum, part) => sum + (part.values[row] ?? 0), 0);
}

function tip(chart: StackChart, wholes: number[], row: number): HTMLElement {
  const whole = wholes[row] ?? 0;
  const rows = chart.parts.map((part) => {
    const value = part.values[row] ?? null;
    const share = value !== null && whole > 0 ? ` (${percentText(value / whole)})` : "";
    return { kind: part.kind, label: part.label, value: quantityText(value, chart.unit) + share };
  });
  return tooltipElement(`${chart.categories[row] ?? ""}: ${quantityText(whole, chart.unit)}`, rows);
}
