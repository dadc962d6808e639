/** Memory of compiled graphs: what operators hold over the nodes of a graph, who holds the peak, and all of them. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { LinesChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { type Query, runPath } from "../../api/client";
import type { GraphCurve, ListedProfile, TableAnswer } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Legend } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { profileText } from "../../controls/rank-select";
import { RangeFields } from "../../controls/range-fields";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import { change, number, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";

const GRAPHS = 500;
const SETTLED_MS = 350;
const OF_GRAPH = ["device", "model", "graph_id"] as const;

export function GraphCard({ run, profiles, rank }: { run: string; profiles: readonly ListedProfile[]; rank: number | null }) {
  const given = parameters({ graph: text() });
  const { value } = useAsked<TableAnswer>(runPath(run, "tables/static_graphs"), { profile: rank, count: GRAPHS });
  const graphs = useMemo(() => (value ? value.rows.map((values) => rowOf(value.columns, values)) : []), [value]);
  const chosen = graphs.find((row) => keyOf(row) === given.graph) ?? graphs[0];
  if (!value || value.state === "missing") return null; // the source knows no compiled graphs
  if (value.state !== "collected" || !chosen) return <Card title={t("graph-memory.title")}><Absent why={value.state === "collected" ? { state: "empty" } : value} /></Card>;
  return (
    <Card title={t("graph-memory.title")} note={t("graph-memory.note")}>
      <GraphMemory run={run} profiles={profiles} graphs={graphs} chosen={chosen} />
      <h3>{t("graph-memory.graphs")}</h3>
      <ServerTable run={run} name="static_graphs" title={t("graph-memory.graphs")} query={{ profile: rank }} rows={12} />
    </Card>
  );
}

function GraphMemory({ run, profiles, graphs, chosen }: { run: string; profiles: readonly ListedProfile[]; graphs: readonly Row[]; chosen: Row }) {
  const given = parameters({ from_node: number(), to_node: number() });
  const range = { from_node: given.from_node, to_node: given.to_node };
  const asked = queryOf(chosen);
  const { value: curve } = useAsked<GraphCurve>(runPath(run, "static-memory-curve"), given.from_node !== null && given.from_node === given.to_node ? asked : { ...asked, ...range });
  const total = typeof chosen["total_bytes"] === "number" ? chosen["total_bytes"] : null;
  const chart = useMemo(() => (curve && curve.nodes.length > 1 ? lines(curve, total) : null), [curve, total]);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const zoom = (from: number, to: number): void => {
    clearTimeout(timer.current);
    const [first, last] = [curve?.nodes[0], curve?.nodes.at(-1)];
    if (first === undefined || last === undefined || to - from > 0.999) return;
    timer.current = window.setTimeout(() => change({ from_node: Math.floor(first + from * (last - first)), to_node: Math.ceil(first + to * (last - first)) }), SETTLED_MS);
  };
  const peak = typeof chosen["peak_node"] === "number" ? chosen["peak_node"] : null;
  const narrowed = given.from_node !== null || given.to_node !== null;
  const size = (name: string): string => quantityText(chosen[name] as number | null, "bytes");
  return (
    <>
      <div class="fields">
        <label class="field">
          <span>{t("graph-memory.graph")}</span>
          <select value={keyOf(chosen)} onChange={(event) => change({ graph: event.currentTarget.value, from_node: null, to_node: null })}>
            {graphs.map((row) => <option key={keyOf(row)} value={keyOf(row)}>{graphText(row, profiles)}</option>)}
          </select>
        </label>
        {peak !== null && <button type="button" disabled={given.from_node === peak && given.to_node === peak} onClick={() => change({ from_node: peak, to_node: peak })}>{t("graph-memory.at-peak")}</button>}
        {chart && <RangeFields label={t("graph-memory.nodes")} from={given.from_node} to={given.to_node} ends={[curve?.nodes[0], curve?.nodes.at(-1)]} choose={(from_node, to_node) => change({ from_node, to_node })} />}
        {narrowed && (
          <p class="filtered">
            {t("graph-memory.range", { from: String(given.from_node ?? 0), to: String(given.to_node ?? chosen["end_node"] ?? "") })}{" "}
            <button type="button" onClick={() => change({ from_node: null, to_node: null })}>{t("graph-memory.whole")}</button>
          </p>
        )}
      </div>
      <p role="status">
        {peak === null ? t("graph-memory.no-curve") : t("graph-memory.said", { peak: size("peak_bytes"), node: String(peak), end: String(chosen["end_node"]) })}
        {total !== null && <> {t("graph-memory.said-total", { total: size("total_bytes") })}</>}
      </p>
      {chart && <Legend parts={(chart.groups[0]?.lines ?? []).map((line) => ({ kind: line.kind, label: line.label }))} />}
      {chart && <ChartView chart={chart} title={`${t("graph-memory.title")} ${String(chosen["graph_id"])}`} height={300} onZoom={zoom} />}
      {chart && curve && <p class="note">{t("graph-memory.points", { shown: curve.nodes.length, count: curve.recorded })}</p>}
      <h3>{t("graph-memory.owners")}</h3>
      <ServerTable run={run} name="static_owners" title={t("graph-memory.owners")} query={asked} without={["rank", "peak_node", ...OF_GRAPH]} rows={10} />
      <h3>{t("graph-memory.operators")}</h3>
      <p class="note">{t("graph-memory.end")}</p>
      <ServerTable run={run} name="static_memory" title={t("graph-memory.operators")} query={{ ...asked, ...range }} without={["rank", ...OF_GRAPH]} rows={15} />
    </>
  );
}

function queryOf(row: Row): Query {
  return { profile: Number(row["profile_id"]), ...Object.fromEntries(OF_GRAPH.map((name) => [name, String(row[name])])) };
}

function keyOf(row: Row): string {
  return ["profile_id", ...OF_GRAPH].map((name) => String(row[name])).join("/");
}

function graphText(row: Row, profiles: readonly ListedProfile[]): string {
  const profile = profiles.find((one) => one.profile_id === row["profile_id"]);
  const names = [String(row["model"]), `${t("graph-memory.graph")} ${String(row["graph_id"])}`, String(row["device"]), ...(profiles.length > 1 && profile ? [profileText(profile)] : [])];
  const most = row["peak_bytes"] ?? row["total_bytes"];
  return `${names.join(" \u00b7 ")}${typeof most === "number" ? `, ${quantityText(most, "bytes")}` : ""}`;
}

function lines(curve: GraphCurve, total: number | null): LinesChart {
  const held = { kind: "allocated", label: t("graph-memory.held"), x: curve.nodes, y: curve.held_bytes };
  const stated = { kind: "reserved", label: t("graph-memory.total"), x: curve.nodes, y: curve.nodes.map(() => total) };
  return { type: "lines", xUnit: "count", unit: "bytes", stepped: true, groups: [{ label: "", lines: total === null ? [held] : [held, stated] }] };
}
