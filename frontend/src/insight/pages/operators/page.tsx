/** Which operators take the time: by type, shape and name, per rank or one rank against another. */

import { useMemo } from "preact/hooks";
import type { RankingChart } from "../../../report/data";
import { useAsked } from "../../api/asked";
import { type Query, runPath } from "../../api/client";
import { useProfiles } from "../../api/profiles";
import type { TableAnswer } from "../../api/types";
import { Card, Choice } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { columnText, functionText } from "../../controls/cells";
import { Page } from "../../controls/page";
import { RankSelect } from "../../controls/rank-select";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import type { PageProps } from "../../shell/page-props";
import { change, number, oneOf, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";
import { CallsCard } from "./calls";
import { Roofline } from "./roofline";

const TABS = ["kernel_types", "shapes", "operators", "kernels", "slow_instances", "fusion", "roofline", "call_paths", "modules", "copies", "host_calls", "launches", "requests"] as const;
type Tab = (typeof TABS)[number];

/** Tables whose rows are the same things on every rank. */
const MATCHED = new Set<Tab>(["kernel_types", "shapes", "operators", "host_calls"]);
const TIME: Partial<Record<Tab, string>> = { kernel_types: "total_ns", shapes: "total_ns", operators: "device_ns", host_calls: "total_ns" };
const RANKED = 12;

export function OperatorsPage({ run }: PageProps) {
  return <Page name="operators"><Content run={run} /></Page>;
}

function Content({ run }: { run: string }) {
  const profiles = useProfiles(run);
  const { tab, rank, against, type, shapes } = parameters({ tab: oneOf<Tab>(...TABS), rank: number(), against: number(), type: text(), shapes: text() });
  const matched = MATCHED.has(tab);
  const comparing = matched && rank !== null && against !== null;
  const query: Query = comparing
    ? { profile: rank, against }
    : { profile: rank, ...(matched && rank === null ? { merged: true } : {}), ...(tab === "kernels" ? { op_type: type, input_shapes: shapes } : {}) };
  const several = profiles.length > 1;
  const choices = TABS.map((one) => [one, t(`operators.${one}`)] as const);
  const instances = tab === "kernel_types" || tab === "shapes";
  return (
    <>
      <div class="page-head">
        <h1>{t("page.operators")}</h1>
        {several && (
          <div class="fields">
            <RankSelect label={t("rank.label")} profiles={profiles} value={rank} none={t("rank.all")} choose={(one) => change({ rank: one, against: one === null ? null : against, root: null })} />
            {matched && rank !== null && (
              <RankSelect label={t("rank.against")} profiles={profiles.filter((one) => one.profile_id !== rank)} value={against} none={t("rank.nobody")} choose={(one) => change({ against: one })} />
            )}
          </div>
        )}
      </div>
      <Choice label={t("operators.by")} choices={choices} value={tab} choose={(one) => change({ tab: one, type: null, shapes: null, root: null })} />
      {tab === "call_paths" ? <CallsCard run={run} profile={rank} /> : (
        <Card title={t(`operators.${tab}`)} note={t(`operators.${tab}-note`)}>
          {!comparing && matched && <Ranking run={run} tab={tab} query={query} />}
          {tab === "roofline" && <Roofline run={run} query={query} />}
          {tab === "requests" && <ServerTable run={run} name="request_stages" title={t("operators.request_stages")} query={query} searchable={false} />}
          {tab === "kernels" && type !== "" && (
            <p class="filtered">
              {t("operators.only", { type })} <button type="button" onClick={() => change({ type: null, shapes: null })}>{t("operators.only-off")}</button>
            </p>
          )}
          <ServerTable
            key={`${tab} ${comparing}`}
            run={run}
            name={tab}
            title={t(`operators.${tab}`)}
            query={query}
            pick={instances && !comparing ? { label: t("operators.instances"), act: showInstances } : undefined}
          />
        </Card>
      )}
    </>
  );
}

function showInstances(row: Row): void {
  change({ tab: "kernels", type: String(row["op_type"] ?? ""), shapes: typeof row["input_shapes"] === "string" ? row["input_shapes"] : null });
}

function Ranking({ run, tab, query }: { run: string; tab: Tab; query: Query }) {
  const { value } = useAsked<TableAnswer>(runPath(run, `tables/${tab}`), { ...query, count: RANKED });
  const column = TIME[tab] ?? "total_ns";
  const chart = useMemo(() => (value?.table === tab && value.rows.length > 1 ? ranking(value, column) : null), [value, tab]);
  return chart && <ChartView chart={chart} title={t(`operators.${tab}`)} />;
}

function ranking(answer: TableAnswer, column: string): RankingChart | null {
  const rows = answer.rows.map((values) => rowOf(answer.columns, values)).filter((row) => typeof row[column] === "number" && (row[column] as number) > 0);
  if (!rows.length) return null;
  return {
    type: "ranking",
    unit: "ns",
    kind: "compute",
    label: columnText(column),
    rows: rows.map((row) => ({
      label: [functionText(String(row["op_type"] ?? row["name"] ?? "")), row["input_shapes"]].filter(Boolean).join(" "),
      value: row[column] as number,
      note: t("operators.calls", { count: Number(row["calls"] ?? 0) }),
    })),
    cumulative: rows.map(() => null),
    cumulativeLabel: "",
  };
}
