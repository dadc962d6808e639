/** Memory over time, what lies in a chosen range, who holds the peak, and whether it leaks. */

import { useMemo } from "preact/hooks";
import type { RankingChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useParts } from "../../api/document";
import { useProfiles } from "../../api/profiles";
import type { Document, Holder } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { columnText } from "../../controls/cells";
import { Page, Shown } from "../../controls/page";
import { RankSelect, rankText } from "../../controls/rank-select";
import { ServerTable } from "../../controls/server-table";
import type { PageProps } from "../../shell/page-props";
import { change, number, parameters } from "../../shell/router";
import { t } from "../../shell/words";
import { CurveCard, useCurves } from "./curve";
import { GraphCard } from "./graph";
import { MomentCard } from "./moment";
import { PartsCard } from "./parts";

const HOLDERS = 12;

export function MemoryPage({ run }: PageProps) {
  return <Page name="memory"><Content run={run} /></Page>;
}

function Content({ run }: { run: string }) {
  const profiles = useProfiles(run);
  const asked = useParts("memory");
  const memory = asked.value?.memory;
  const { rank } = parameters({ rank: number() });
  const curves = useCurves(run, rank);
  const component = curves.chosen ? String(curves.chosen["component"]) : null;
  if (memory && !memory.collected) return <><h1>{t("page.memory")}</h1><Absent why={memory} /><GraphCard run={run} profiles={profiles} rank={rank} /></>;
  return (
    <>
      <div class="page-head">
        <h1>{t("page.memory")}</h1>
        {profiles.length > 1 && (
          <div class="fields">
            <RankSelect label={t("rank.label")} profiles={profiles} value={rank} none={t("rank.all")} choose={(one) => change({ rank: one, component: null, from: null, to: null, at: null, device: null, owner: null, graph: null, from_node: null, to_node: null })} />
          </div>
        )}
      </div>
      <CurveCard run={run} profiles={profiles} curves={curves} />
      <MomentCard run={run} profiles={profiles} rank={rank} />
      <PartsCard run={run} profiles={profiles} rank={rank} />
      <Shown asked={asked}>{(found) => <Peak memory={found.memory} />}</Shown>
      <Card title={t("memory-page.owners")} note={t("memory-page.owners-note")}>
        <ServerTable run={run} name="memory_owners" title={t("memory-page.owners")} query={{ profile: rank }} rows={12} />
      </Card>
      <GraphCard run={run} profiles={profiles} rank={rank} />
      <Card title={t("memory-page.leaks")} note={t("memory-page.leaks-note")}>
        <ServerTable run={run} name="memory_leaks" title={t("memory-page.leaks")} query={{ profile: rank }} rows={12} />
        <h3>{t("memory-page.sites")}</h3>
        <ServerTable run={run} name="leak_sites" title={t("memory-page.sites")} query={{ profile: rank }} rows={12} />
      </Card>
      <Card title={t("memory-page.operators")} note={t("memory-page.operators-note")}>
        <ServerTable run={run} name="memory_operators" title={t("memory-page.operators")} query={{ profile: rank }} rows={12} />
      </Card>
      <Card title={t("memory-page.fragmentation")} note={t("memory-page.fragmentation-note")}>
        <ServerTable run={run} name="fragmentation" title={t("memory-page.fragmentation")} query={{ profile: rank, component }} rows={12} />
      </Card>
      <Card title={t("memory-page.peaks")}>
        <ServerTable run={run} name="memory_peaks" title={t("memory-page.peaks")} query={{ profile: rank, component }} rows={12} />
      </Card>
    </>
  );
}

function Peak({ memory }: { memory: Document["memory"] }) {
  const spots = memory.hot_spots;
  const chart = useMemo(() => (spots?.holders.length ? ranking(spots.holders.slice(0, HOLDERS)) : null), [memory]);
  if (!spots || !chart) return null;
  const note = t("memory-page.peak-note", { device: spots.device, rank: rankText(spots.rank), size: quantityText(spots.device_bytes, "bytes") });
  return (
    <Card title={t("memory-page.peak")} note={note}>
      <ChartView chart={chart} title={t("memory-page.peak")} />
    </Card>
  );
}

function ranking(holders: readonly Holder[]): RankingChart {
  return {
    type: "ranking",
    unit: "bytes",
    kind: "allocated",
    label: columnText("held_bytes"),
    rows: holders.map((one) => ({ label: one.operator_name, value: one.held_bytes, note: one.module ?? "" })),
    cumulative: holders.map(() => null),
    cumulativeLabel: "",
  };
}
