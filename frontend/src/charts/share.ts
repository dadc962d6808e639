/** A ring: one whole divided into parts. */

import type { ShareChart } from "../report/data";
import { percentText, quantityText } from "../text/quantities";
import type { EChartsOption } from "./engine";
import { type Theme, fill } from "./theme";
import { tooltipElement, tooltipStyle } from "./tooltip";

export const SHARE_HEIGHT = 220;

export function shareOption(chart: ShareChart, theme: Theme): EChartsOption {
  const whole = chart.slices.reduce((sum, slice) => sum + slice.value, 0);
  return {
    animation: false,
    textStyle: { fontFamily: theme.font },
    tooltip: {
      ...tooltipStyle(theme),
      trigger: "item",
      formatter: (at: unknown) => {
        const slice = chart.slices[(at as { dataIndex: number }).dataIndex];
        if (!slice) return "";
        const share = whole > 0 ? ` (${percentText(slice.value / whole)})` : "";
        return tooltipElement("", [{ kind: slice.kind, label: slice.label, value: quantityText(slice.value, chart.unit) + share }]);
      },
    },
    series: [
      {
        type: "pie",
        radius: ["60%", "92%"],
        startAngle: 90,
        data: chart.slices.map((slice) => ({ name: slice.label, value: slice.value, itemStyle: fill(theme, slice.kind) })),
        label: {
          show: true,
          position: "center",
          formatter: `{big|${chart.middle}}\n{small|${chart.below}}`,
          rich: {
            big: { fontSize: 26, fontWeight: 650, color: theme.ink, fontFamily: theme.font, lineHeight: 32 },
            small: { fontSize: 12.5, color: theme.soft, fontFamily: theme.font, lineHeight: 18 },
          },
        },
        labelLine: { show: false },
        itemStyle: { borderColor: theme.card, borderWidth: 1 },
        emphasis: { scale: false, label: { show: true } },
      },
    ],
  };
}
