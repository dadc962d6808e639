/** A heat map of pairs of ranks: the worse, the darker. */

import type { HeatChart } from "../report/data";
import { quantityText } from "../text/quantities";
import type { EChartsOption } from "./engine";
import { SEQUENTIAL, type Theme } from "./theme";
import { tooltipElement, tooltipStyle } from "./tooltip";

const WIDEST_CELL = 54;
const SMALLEST_CELL = 14;
const LABELS_FROM = 44;

export function heatCell(chart: HeatChart): number {
  return Math.max(SMALLEST_CELL, Math.min(WIDEST_CELL, Math.floor(640 / Math.max(chart.columns.length, 1))));
}

export function heatHeight(chart: HeatChart): number {
  return 34 + chart.rows.length * heatCell(chart) + 56;
}

/** Width that shows every cell. */
export function heatWidth(chart: HeatChart): number {
  return 50 + chart.columns.length * heatCell(chart) + 20;
}

/** How far the ends of a scale are from the median at least, where small differences matter. */
const CLOSE = 1.25;

/**
 * The middle of the scale is the median: half of it is one end, twice of it the other, or the most if it is wide.
 * A close scale ends where the values do.
 */
export function scaleOf(values: number[], wide = false, close = false): [number, number] {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 1;
  if (close) {
    const factor = Math.max(CLOSE, middle / (sorted[0] ?? middle), (sorted.at(-1) ?? middle) / middle);
    return [middle / factor, middle * factor];
  }
  return [middle / 2, Math.max(middle * 2, wide ? (sorted[sorted.length - 1] ?? 0) : 0)];
}

/** Place of a value between the ends of a scale, 0 to 1, by its logarithm. */
export function placeOf(value: number, [low, high]: [number, number]): number {
  if (!(value > 0)) return 0;
  return Math.min(1, Math.max(0, Math.log2(value / low) / Math.log2(high / low)));
}

export function heatOption(chart: HeatChart, metric: number, theme: Theme): EChartsOption {
  const shown = chart.metrics[metric];
  const known = chart.cells.filter((cell) => typeof cell[metric + 2] === "number");
  const scale = scaleOf(known.map((cell) => cell[metric + 2] as number), shown?.wide, shown?.close);
  const dark = (value: number): number => (shown?.lowIsBad ? 1 - placeOf(value, scale) : placeOf(value, scale));
  const labelled = heatCell(chart) >= LABELS_FROM;
  const names = { color: theme.soft, fontSize: 12 };
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    grid: { left: 50, top: 26, width: chart.columns.length * heatCell(chart), height: chart.rows.length * heatCell(chart) },
    xAxis: { type: "category", position: "top", data: chart.columns, axisLabel: names, axisTick: { show: false }, axisLine: { show: false } },
    yAxis: { type: "category", inverse: true, data: chart.rows, axisLabel: names, axisTick: { show: false }, axisLine: { show: false } },
    visualMap: {
      type: "continuous",
      min: 0,
      max: 1,
      dimension: 2,
      show: true,
      calculable: false,
      orient: "horizontal",
      left: 48,
      bottom: 0,
      itemWidth: 12,
      itemHeight: 160,
      inRange: { color: SEQUENTIAL },
      text: endsOf(scale, shown?.unit ?? "ns", shown?.lowIsBad ?? false),
      textStyle: { color: theme.soft },
    },
    tooltip: {
      ...tooltipStyle(theme),
      trigger: "item",
      formatter: (at: unknown) => tip(chart, known[(at as { dataIndex: number }).dataIndex]),
    },
    series: [
      {
        type: "heatmap",
        data: known.map((cell) => [cell[1] ?? 0, cell[0] ?? 0, dark(cell[metric + 2] as number)]),
        label: {
          show: labelled,
          fontSize: 10.5,
          formatter: (at: { dataIndex: number }) => quantityText(known[at.dataIndex]?.[metric + 2], shown?.unit ?? "ns"),
        },
        itemStyle: { borderColor: theme.card, borderWidth: 1 },
        emphasis: { itemStyle: { borderColor: theme.ink, borderWidth: 1.5 } },
      },
    ],
  };
}

/** Texts of the dark and of the light end. */
function endsOf([low, high]: [number, number], unit: HeatChart["metrics"][number]["unit"], lowIsBad: boolean): [string, string] {
  const ends: [string, string] = [`\u2265 ${quantityText(high, unit)}`, `\u2264 ${quantityText(low, unit)}`];
  return lowIsBad ? [ends[1], ends[0]] : ends;
}

function tip(chart: HeatChart, cell: (number | null)[] | undefined): HTMLElement {
  const names = [chart.rows[cell?.[0] ?? -1], chart.columns[cell?.[1] ?? -1]];
  return tooltipElement(
    names.join(" \u2192 "),
    chart.metrics.map((metric, at) => ({ label: metric.label, value: quantityText(cell?.[at + 2], metric.unit) })),
  );
}
