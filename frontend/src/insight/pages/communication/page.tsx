/** Who talks to whom and how well, what each primitive does with its time, and whom the others wait for. */

import { useMemo } from "preact/hooks";
import type { StackChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import { useParts } from "../../api/document";
import { useProfiles } from "../../api/profiles";
import type { Grade, TableAnswer } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Legend } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { Page, Shown } from "../../controls/page";
import { RankSelect, rankText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import type { PageProps } from "../../shell/page-props";
import { change, number, parameters, text } from "../../shell/router";
import { named, t } from "../../shell/words";
import { Members } from "./members";
import { PairsCard } from "./pairs";

/** Ranks that are listed; of more, those with most exposed communication. */
const GRADED = 64;
const PARTS = ["transit", "wait", "idle", "unknown"] as const;

export function CommunicationPage({ run }: PageProps) {
  return <Page name="communication"><Content run={run} /></Page>;
}

function Content({ run }: { run: string }) {
  const profiles = useProfiles(run);
  const asked = useParts("communication");
  const { rank, op, group, call, from, to, only } = parameters({ only: text(), rank: number(), op: text(), group: text(), call: number(), from: number(), to: number() });
  const section = asked.value?.communication;
  if (section && !section.collected) return <><h1>{t("page.communication")}</h1><Absent why={section} /></>;
  return (
    <>
      <div class="page-head">
        <h1>{t("page.communication")}</h1>
        {profiles.length > 1 && (
          <div class="fields">
            <RankSelect label={t("rank.label")} profiles={profiles} value={rank} none={t("rank.all")} choose={(one) => change({ rank: one })} />
          </div>
        )}
      </div>
      {only !== "" && (
        <p class="filtered">
          {t("comm.only-group", { group: only })} <button type="button" onClick={() => change({ only: null })}>{t("operators.only-off")}</button>
        </p>
      )}
      <Shown asked={asked}>{({ communication }) => <Grades rows={communication.grades ?? []} />}</Shown>
      <Primitives run={run} rank={rank} />
      <Card title={t("comm.calls")} note={t("comm.calls-note")}>
        {op !== "" && call !== null && <Members run={run} op={op} group={group} sequence={call} />}
        <ServerTable
          run={run}
          name="calls"
          title={t("comm.calls")}
          query={{ group_id: only || null }}
          rows={12}
          pick={{
            label: t("comm.show-ranks"),
            act: (row) => change({ op: String(row["op"] ?? ""), group: groupOf(row), call: Number(row["sequence"]) }),
            chosen: (row) => row["op"] === op && row["sequence"] === call && groupOf(row) === group,
          }}
        />
      </Card>
      <PairsCard run={run} group={only} />
      <Card title={t("comm.stragglers")} note={t("comm.stragglers-note")}>
        <ServerTable run={run} name="stragglers" title={t("comm.stragglers")} rows={12} searchable={false} />
      </Card>
      <Card title={t("comm.waits")} note={t("comm.waits-note")}>
        <ServerTable run={run} name="rank_waits" title={t("comm.waits")} rows={12} searchable={false} />
      </Card>
      <Card title={t("comm.links")} note={t("comm.links-note")}>
        <div id="links" tabIndex={-1} />
        {from !== null && to !== null && (
          <p class="filtered">
            {t("comm.only-pair", { from: String(from), to: String(to) })} <button type="button" onClick={() => change({ from: null, to: null })}>{t("operators.only-off")}</button>
          </p>
        )}
        <ServerTable run={run} name="links" title={t("comm.links")} query={{ src_rank: from, dst_rank: to }} rows={12} />
      </Card>
      <Card title={t("comm.collectives")} note={t("comm.collectives-note")}>
        <ServerTable run={run} name="collectives" title={t("comm.collectives")} query={{ profile: rank, group_id: only || null }} rows={12} />
      </Card>
      <Card title={t("comm.transfers")} note={t("comm.transfers-note")}>
        <ServerTable run={run} name="transfers" title={t("comm.transfers")} query={{ profile: rank }} rows={12} />
      </Card>
    </>
  );
}

function groupOf(row: Row): string {
  return String(row["group_id"] ?? "");
}

function Grades({ rows }: { rows: readonly Grade[] }) {
  if (!rows.length) return null;
  const shown = rows.length > GRADED ? [...rows].sort((a, b) => b.exposed_comm_ns - a.exposed_comm_ns).slice(0, GRADED) : rows;
  const exposed = (share: (row: Grade) => number) => (row: Grade) => quantityText(share(row), "ns");
  // Where nothing tells what the time was made of, its parts are not known; they are not nothing.
  const part = (share: (row: Grade) => number) => (row: Grade) => (isKnown(row) ? quantityText(share(row), "ns") : "-");
  return (
    <Card title={t("comm.grades")} note={t("comm.grades-note")}>
      <RowsTable<Grade>
        title={t("comm.grades")}
        rows={shown}
        columns={[
          { title: t("col.rank"), left: true, text: (row) => rankText(row.rank) },
          { title: t("col.exposed_ns"), text: exposed((row) => row.exposed_comm_ns) },
          { title: t("col.exposed_share_ratio"), text: (row) => quantityText(row.exposed_share_ratio, "ratio") },
          { title: t("col.transit_ns"), text: part((row) => row.exposed_transit_ns) },
          { title: t("col.wait_ns"), text: part((row) => row.exposed_wait_ns) },
          { title: t("col.idle_ns"), text: part((row) => row.exposed_idle_ns) },
          { title: t("col.unknown_ns"), text: exposed((row) => row.exposed_unknown_ns) },
          { title: t("col.grade"), left: true, text: (row) => (row.grade === null ? "-" : named("grade", row.grade)) },
        ]}
      />
      {rows.length > shown.length && <p class="note">{t("comm.graded", { shown: shown.length, count: rows.length })}</p>}
    </Card>
  );
}

function isKnown(row: Grade): boolean {
  return row.exposed_unknown_ns === 0 || row.exposed_transit_ns + row.exposed_wait_ns + row.exposed_idle_ns > 0;
}

function Primitives({ run, rank }: { run: string; rank: number | null }) {
  const query = rank === null ? { merged: true } : { profile: rank };
  const { value } = useAsked<TableAnswer>(runPath(run, "tables/primitives"), { ...query, count: 20 });
  const chart = useMemo(() => (value?.state === "collected" ? parts(value) : null), [value]);
  return (
    <Card title={t("comm.primitives")} note={t("comm.primitives-note")}>
      {chart && <Legend parts={chart.parts} />}
      {chart && <ChartView chart={chart} title={t("comm.primitives")} />}
      <ServerTable run={run} name="primitives" title={t("comm.primitives")} query={query} searchable={false} />
    </Card>
  );
}

function parts(answer: TableAnswer): StackChart | null {
  const rows = answer.rows.map((values) => rowOf(answer.columns, values));
  if (!rows.length) return null;
  return {
    type: "stack",
    unit: "ns",
    categories: rows.map((row) => String(row["op"] ?? "-")),
    parts: PARTS.map((part) => ({
      kind: part,
      label: named("part", `${part}_ns`),
      values: rows.map((row) => (typeof row[`${part}_ns`] === "number" ? (row[`${part}_ns`] as number) : null)),
    })).filter((part) => part.values.some((value) => value !== null && value > 0)),
  };
}
