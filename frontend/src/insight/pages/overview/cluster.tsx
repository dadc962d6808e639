/** Many ranks at a glance: own time by rank and step, pipeline stages, ranks that the others wait for. */

import { useMemo } from "preact/hooks";
import type { HeatChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import type { Cluster } from "../../api/types";
import { Card } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { columnText } from "../../controls/cells";
import { rankText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { href } from "../../shell/router";
import { named, t } from "../../shell/words";

export function ClusterCard({ cluster }: { cluster: Cluster }) {
  const chart = useMemo(() => heat(cluster), [cluster]);
  const pipeline = cluster.stages.some((one) => one.stage !== null);
  return (
    <Card title={t("cluster.title", { count: cluster.rank_count })} note={t("cluster.note", { count: cluster.straggler_count })}>
      {cluster.detailed_ranks && <p class="note">{t("cluster.detailed", { ranks: cluster.detailed_ranks.map((rank) => rank ?? "?").join(", ") })}</p>}
      {cluster.lost_count > 0 && <p class="note">{t("cluster.lost", { count: cluster.lost_count })} {cluster.lost.join("; ")}</p>}
      {chart && <p class="note">{t(chart.columns.length > chart.rows.length ? "cluster.across" : "cluster.down")}</p>}
      {chart && <div class="scroll heat" tabIndex={0} role="region" aria-label={t("cluster.heat")}><ChartView chart={chart} title={t("cluster.heat")} /></div>}
      {cluster.worst.length > 0 && (
        <>
          <h3>{t("cluster.worst")}</h3>
          <RowsTable
            title={t("cluster.worst")}
            rows={cluster.worst}
            columns={[
              { title: t("col.rank"), left: true, text: (row) => <a href={href("operators", { rank: row.profile_id })}>{rankText(row.rank)}</a> },
              { title: t("col.host"), left: true, text: (row) => row.host ?? "-" },
              { title: t("col.stage"), text: (row) => row.stage ?? "-" },
              { title: t("col.own_ns"), text: (row) => quantityText(row.own_ns, "ns") },
              { title: t("col.peer_own_ns"), text: (row) => quantityText(row.peer_own_ns, "ns") },
              { title: t("col.caused_wait_ns"), text: (row) => quantityText(row.caused_wait_ns, "ns") },
              { title: t("col.cause"), left: true, text: (row) => (row.cause === null ? "-" : named("cause", row.cause)) },
              { title: t("col.is_straggler"), left: true, text: (row) => (row.is_straggler ? t("cell.yes") : t("cell.no")) },
            ]}
          />
        </>
      )}
      {pipeline && (
        <>
          <h3>{t("cluster.stages")}</h3>
          <RowsTable
            title={t("cluster.stages")}
            rows={cluster.stages}
            columns={[
              { title: t("col.stage"), left: true, text: (row) => row.stage ?? "-" },
              { title: t("fact.ranks"), text: (row) => row.ranks },
              { title: columnText("window_ns"), text: (row) => quantityText(row.window_ns, "ns") },
              { title: columnText("compute_ns"), text: (row) => quantityText(row.compute_ns, "ns") },
              { title: columnText("exposed_comm_ns"), text: (row) => quantityText(row.exposed_comm_ns, "ns") },
              { title: columnText("free_ns"), text: (row) => quantityText(row.free_ns, "ns") },
              { title: columnText("bubble_ns"), text: (row) => quantityText(row.bubble_ratio, "ratio") },
            ]}
          />
        </>
      )}
    </Card>
  );
}

function heat(cluster: Cluster): HeatChart | null {
  if (!cluster.heat.length || !cluster.steps.length) return null;
  const ranks = cluster.heat.map((row) => (row.rank === null ? "?" : String(row.rank)));
  const steps = cluster.steps.map(String);
  const across = ranks.length > steps.length; // the longer side runs across the page
  return {
    type: "heat",
    rows: across ? steps : ranks,
    columns: across ? ranks : steps,
    metrics: [{ label: columnText("own_ns"), unit: "ns", lowIsBad: false, wide: false, close: true }],
    cells: cluster.heat.flatMap((row, rank) => row.own_ns.map((value, step) => (across ? [step, rank, value] : [rank, step, value]))),
  };
}
