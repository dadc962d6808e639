/** Curves: memory over time, the length of steps. */

import type { LinesChart } from "../report/data";
import { axisText, quantityText, ticks } from "../text/quantities";
import type { EChartsOption, SeriesOption } from "./engine";
import type { Theme } from "./theme";
import { tooltipElement, tooltipStyle } from "./tooltip";

export const LINES_HEIGHT = 280;

/** Kinds without a meaning of their own take these, told apart by dashes as well. */
const PLAIN = ["backward", "communication", "optimizer", "data", "exposed_copy", "forward"];
const DASHES: ("solid" | "dashed" | "dotted")[] = ["solid", "dashed", "dotted"];
const DASHED = new Set(["reserved"]);

export function linesOption(chart: LinesChart, group: number, theme: Theme): EChartsOption {
  const lines = chart.groups[group]?.lines ?? [];
  const named = lines.length > 1 && lines.every((line) => line.kind === ""); // else the page has a legend
  const tops = chart.stacked ? (lines[0]?.y.map((_, at) => lines.reduce((sum, line) => sum + (line.y[at] ?? 0), 0)) ?? []) : lines.flatMap((line) => line.y.map((value) => value ?? 0));
  const highest = Math.max(1, ...tops);
  const steps = ticks(highest, chart.unit);
  const interval = steps[1] ?? highest;
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 8, right: 18, top: named ? 34 : 12, bottom: 46, containLabel: true },
    legend: { show: named, top: 0, left: 0, type: "plain", icon: "roundRect", itemWidth: 13, itemHeight: 13, textStyle: { color: theme.soft } },
    xAxis: {
      type: "value",
      min: "dataMin",
      max: "dataMax",
      ...(chart.xUnit === "count" ? { minInterval: 1 } : {}),
      axisLabel: { color: theme.soft, formatter: (value: number) => axisText(value, chart.xUnit), hideOverlap: true },
      splitLine: { show: false },
      axisLine: { lineStyle: { color: theme.line } },
    },
    yAxis: {
      type: "value",
      min: 0,
      max: Math.ceil(highest / interval) * interval,
      interval,
      axisLabel: { color: theme.soft, formatter: (value: number) => axisText(value, chart.unit) },
      splitLine: { lineStyle: { color: theme.line } },
    },
    dataZoom: [
      { type: "inside", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
      { type: "slider", height: 18, bottom: 6, showDetail: false, borderColor: theme.line, labelFormatter: "" },
    ],
    tooltip: {
      ...tooltipStyle(theme),
      trigger: "axis",
      formatter: (at: unknown) => tip(chart, group, at as { seriesIndex: number; dataIndex: number }[]),
    },
    series: lines.map((line, number): SeriesOption => {
      const colour = theme.colour(line.kind || (PLAIN[number % PLAIN.length] ?? "compute"));
      const dash = line.kind ? (DASHED.has(line.kind) ? "dashed" : "solid") : DASHES[Math.floor(number / PLAIN.length) % 3];
      return {
        type: "line",
        name: line.label,
        data: line.x.map((x, at) => [x, line.y[at] ?? null]),
        step: chart.stepped ? "end" : false,
        showSymbol: line.x.length <= 60 && !chart.stepped,
        symbolSize: 5,
        lineStyle: { width: 1.7, color: colour, type: dash ?? "solid" },
        itemStyle: { color: colour },
        ...(chart.stacked ? { stack: "whole", areaStyle: { color: colour, opacity: 0.45 } } : {}),
        ...(number === 0 && chart.stepped && !chart.stacked ? { areaStyle: { color: colour, opacity: 0.12 } } : {}),
      };
    }),
  };
}

function tip(chart: LinesChart, group: number, at: { seriesIndex: number; dataIndex: number }[]): HTMLElement {
  const lines = chart.groups[group]?.lines ?? [];
  const first = lines[at[0]?.seriesIndex ?? 0];
  const x = first?.x[at[0]?.dataIndex ?? 0] ?? 0;
  return tooltipElement(
    quantityText(x, chart.xUnit),
    at.map(({ seriesIndex, dataIndex }) => ({
      label: lines[seriesIndex]?.label ?? "",
      kind: lines[seriesIndex]?.kind || (PLAIN[seriesIndex % PLAIN.length] ?? ""),
      value: quantityText(lines[seriesIndex]?.y[dataIndex], chart.unit),
    })),
  );
}
