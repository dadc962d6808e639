/** What memory is for: its parts over time, stacked, and at the moment when they hold most together. */

import { useMemo } from "preact/hooks";
import type { LinesChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import type { PartCurves, ListedProfile, TableAnswer } from "../../api/types";
import { Card } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { profileText } from "../../controls/rank-select";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import { change, number, parameters, text } from "../../shell/router";
import { named, t } from "../../shell/words";

const ROWS = 1000;
const SHOWN = 6;

/** Nothing where no source told the parts apart. */
export function PartsCard({ run, profiles, rank }: { run: string; profiles: readonly ListedProfile[]; rank: number | null }) {
  const given = parameters({ parts: text(), from: number(), to: number() });
  const { value } = useAsked<TableAnswer>(runPath(run, "tables/memory_parts"), { profile: rank, count: ROWS });
  const wholes = useMemo(() => (value ? wholesOf(value.rows.map((values) => rowOf(value.columns, values))) : []), [value]);
  const chosen = wholes.find((row) => keyOf(row) === given.parts) ?? wholes[0];
  const asked = { profile: chosen ? Number(chosen["profile_id"]) : null, family: chosen ? String(chosen["family"]) : null };
  const { value: curves } = useAsked<PartCurves>(chosen ? runPath(run, "memory-parts") : null, { ...asked, from_ns: given.from, to_ns: given.to });
  const chart = useMemo(() => (curves && curves.at_ns.length > 1 ? stacked(curves) : null), [curves]);
  if (!chosen) return null;
  const title = t("memory-parts.title");
  return (
    <Card title={title} note={t(chosen["family"] === "category" ? "memory-parts.category-note" : "memory-parts.module-note")}>
      {wholes.length > 1 && (
        <label class="field">
          <span>{t("memory-parts.parts")}</span>
          <select value={keyOf(chosen)} onChange={(event) => change({ parts: event.currentTarget.value })}>
            {wholes.map((row) => <option key={keyOf(row)} value={keyOf(row)}>{wholeText(row, profiles)}</option>)}
          </select>
        </label>
      )}
      <p role="status">{t("memory-parts.said", { size: quantityText(chosen["whole_bytes"] as number, "bytes"), at: quantityText(chosen["peak_ts_ns"] as number, "ns") })}</p>
      {chart && <ChartView chart={chart} title={title} height={320} />}
      <ServerTable run={run} name="memory_parts" title={title} query={asked} without={["rank", "family", "whole_bytes", "peak_ts_ns"]} rows={12} searchable={false} />
    </Card>
  );
}

/** One row of each whole. */
function wholesOf(rows: readonly Row[]): Row[] {
  return rows.filter((row, at) => rows.findIndex((one) => keyOf(one) === keyOf(row)) === at);
}

function keyOf(row: Row): string {
  return `${row["profile_id"]}/${row["family"]}`;
}

function wholeText(row: Row, profiles: readonly ListedProfile[]): string {
  const profile = profiles.find((one) => one.profile_id === row["profile_id"]);
  const family = t(row["family"] === "category" ? "memory-parts.category" : "memory-parts.module");
  return profiles.length > 1 && profile ? `${family} \u00b7 ${profileText(profile)}` : family;
}

/** The largest parts, and all others as one. */
function stacked(curves: PartCurves): LinesChart {
  const single = curves.parts.length > SHOWN ? SHOWN - 1 : curves.parts.length;
  const lines = curves.parts.slice(0, single).map((one) => ({ kind: "", label: named("memory-part", one.part), x: curves.at_ns, y: one.held_bytes as (number | null)[] }));
  const rest = curves.parts.slice(single);
  if (rest.length) lines.push({ kind: "", label: t("memory-parts.rest"), x: curves.at_ns, y: curves.at_ns.map((_, at) => rest.reduce((sum, one) => sum + (one.held_bytes[at] ?? 0), 0)) });
  return { type: "lines", xUnit: "ns", unit: "bytes", stepped: true, stacked: true, groups: [{ label: "", lines }] };
}
