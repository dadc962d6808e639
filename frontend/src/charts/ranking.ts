/** Bars by size with the share that they make together: what is worth looking at first. */

import type { RankingChart } from "../report/data";
import { axisText, percentText, quantityText, ticks } from "../text/quantities";
import type { EChartsOption, SeriesOption } from "./engine";
import { type Theme, fill, namedRows } from "./theme";
import { tooltipElement, tooltipStyle } from "./tooltip";

const ROW = 24;

export function rankingHeight(chart: RankingChart): number {
  const axes = chart.cumulative.some((value) => value !== null) ? 66 : 34;
  return axes + chart.rows.length * ROW;
}

export function rankingOption(chart: RankingChart, theme: Theme): EChartsOption {
  const axis = { axisLabel: { color: theme.soft, hideOverlap: true }, splitLine: { lineStyle: { color: theme.line } } };
  const known = chart.cumulative.some((value) => value !== null);
  // The chart's own steps are decimal: round for times, not for bytes.
  const step = chart.unit === "bytes" ? ticks(Math.max(1, ...chart.rows.map((row) => row.value)), chart.unit)[1] : undefined;
  const series: SeriesOption[] = [
    {
      type: "bar",
      name: chart.label,
      z: 3,
      barMaxWidth: 16,
      data: chart.rows.map((row) => row.value),
      itemStyle: fill(theme, chart.kind),
      label: {
        show: true,
        position: "right",
        color: theme.ink,
        fontSize: 12,
        backgroundColor: theme.card,
        padding: [1, 3],
        formatter: (at: { dataIndex: number }) => quantityText(chart.rows[at.dataIndex]?.value, chart.unit),
      },
    },
  ];
  if (known) {
    series.push({
      type: "line",
      name: chart.cumulativeLabel,
      xAxisIndex: 1,
      data: chart.cumulative,
      symbolSize: 6,
      lineStyle: { color: theme.colour("data"), width: 1.5 },
      itemStyle: { color: theme.colour("data") },
    });
  }
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 8, right: 76, top: known ? 22 : 4, bottom: 4, containLabel: true },
    xAxis: [
      { type: "value", ...axis, ...(step === undefined ? {} : { interval: step }), axisLabel: { ...axis.axisLabel, formatter: (value: number) => axisText(value, chart.unit) } },
      {
        type: "value",
        show: known,
        position: "top",
        min: 0,
        max: 1,
        axisLabel: { color: theme.soft, formatter: (value: number) => percentText(value) },
        splitLine: { show: false },
      },
    ],
    yAxis: namedRows(theme, chart.rows.map((row) => row.label), 230),
    tooltip: {
      ...tooltipStyle(theme),
      trigger: "axis",
      axisPointer: { type: "shadow" },
      formatter: (at: unknown) => tip(chart, (at as { dataIndex: number }[])[0]?.dataIndex ?? 0),
    },
    series,
  };
}

function tip(chart: RankingChart, at: number): HTMLElement {
  const row = chart.rows[at];
  const cumulative = chart.cumulative[at];
  return tooltipElement(row?.label ?? "", [
    { kind: chart.kind, label: chart.label, value: quantityText(row?.value, chart.unit) },
    ...(row?.note ? [{ label: "", value: row.note }] : []),
    ...(typeof cumulative === "number" ? [{ kind: "data", label: chart.cumulativeLabel, value: percentText(cumulative) }] : []),
  ]);
}
