/** How metrics developed over the runs of a history. */

import { useMemo } from "preact/hooks";
import type { LinesChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import type { Trend } from "../../api/types";
import { Card } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { RowsTable } from "../../controls/rows-table";
import { Notice } from "../../shell/notice";
import { language } from "../../shell/settings";
import { named, t } from "../../shell/words";
import { metricText } from "./metric";

export function TrendCard() {
  const { value, error, again } = useAsked<Trend | null>("history", { lang: language.value }, true);
  if (error) return <Notice error={error} again={again} />;
  if (!value) return null;
  return (
    <Card title={t("history.trend-title")} note={`${value.where} \u00b7 ${value.series} \u00b7 ${value.setup}`}>
      {value.metrics.map((metric) => <MetricTrend key={metric.metric} metric={metric} />)}
    </Card>
  );
}

function MetricTrend({ metric }: { metric: Trend["metrics"][number] }) {
  const name = metricText(metric.metric);
  const chart = useMemo((): LinesChart => ({
    type: "lines",
    xUnit: "count",
    unit: metric.unit,
    stepped: false,
    groups: [{ label: name, lines: [{ kind: "compute", label: name, x: metric.points.map((point) => point.run), y: metric.points.map((point) => point.value) }] }],
  }), [metric, name]);
  return (
    <section class="trend">
      <h3>{name}</h3>
      {metric.points.length > 1 && <ChartView chart={chart} title={name} height={220} />}
      {metric.changes.map((one) => (
        <p key={one.run} class={one.is_worse ? "more" : "less"}>
          {t("compare-page.level", { run: one.run, before: quantityText(one.before, metric.unit), after: quantityText(one.after, metric.unit) })}
        </p>
      ))}
      <details>
        <summary>{t("compare-page.runs", { count: metric.points.length })}</summary>
        <RowsTable
          title={name}
          rows={[...metric.points].reverse()}
          columns={[
            { title: t("compare-page.run"), left: true, text: (point) => `${point.run} ${point.label}` },
            { title: t("compare-page.recorded"), left: true, text: (point) => new Date(point.recorded_ns / 1e6).toISOString().slice(0, 19).replace("T", " ") },
            { title: name, text: (point) => quantityText(point.value, metric.unit) },
            { title: t("compare-page.verdict"), left: true, text: (point) => (point.verdict === null ? "-" : named("word", point.verdict)) },
          ]}
        />
      </details>
    </section>
  );
}
