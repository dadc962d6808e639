/** A curve that is zoomed, and the blocks of the range that is then in sight, or of a moment. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type { LinesChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import type { CurvePart, ListedProfile, TableAnswer } from "../../api/types";
import { Card, Legend } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { columnText } from "../../controls/cells";
import { profileText } from "../../controls/rank-select";
import { RangeFields } from "../../controls/range-fields";
import { type Row, rowOf } from "../../controls/server-table";
import { change, number, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";
import { BlockTable } from "./blocks";

const LINES = ["allocated", "reserved", "active"] as const;
const SETTLED_MS = 350;
const CURVES = 500;

/** The curves of a rank, and the one that is looked at: sizes of different components are not to be added up. */
export interface Curves {
  readonly all: readonly Row[];
  readonly chosen: Row | undefined;
}

export function useCurves(run: string, rank: number | null): Curves {
  const given = parameters({ component: text() });
  const { value: peaks } = useAsked<TableAnswer>(runPath(run, "tables/memory_peaks"), { profile: rank, count: CURVES });
  const all = useMemo(() => (peaks ? peaks.rows.map((values) => rowOf(peaks.columns, values)) : []), [peaks]);
  return { all, chosen: all.find((row) => keyOf(row) === given.component) ?? all[0] };
}

export function CurveCard({ run, profiles, curves: { all: curves, chosen } }: { run: string; profiles: readonly ListedProfile[]; curves: Curves }) {
  const given = parameters({ from: number(), to: number() });
  const profile = chosen ? Number(chosen["profile_id"]) : null;
  const component = chosen ? String(chosen["component"]) : "";
  const range = { from_ns: given.from, to_ns: given.to };
  const { value: curve } = useAsked<CurvePart>(chosen ? runPath(run, "memory-curve") : null, { profile, component, ...range });
  const chart = useMemo(() => (curve && curve.at_ns.length > 1 ? lines(curve) : null), [curve]);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const zoom = (from: number, to: number): void => {
    clearTimeout(timer.current);
    const [first, last] = [curve?.at_ns[0], curve?.at_ns.at(-1)];
    if (first === undefined || last === undefined || to - from > 0.999) return;
    timer.current = window.setTimeout(() => change({ from: Math.floor(first + from * (last - first)), to: Math.ceil(first + to * (last - first)) }), SETTLED_MS);
  };
  const narrowed = given.from !== null || given.to !== null;
  return (
    <Card title={t("memory-page.curve")} note={t("memory-page.curve-note")}>
      <div class="fields">
        <label class="field">
          <span>{columnText("component")}</span>
          <select value={chosen ? keyOf(chosen) : ""} onChange={(event) => change({ component: event.currentTarget.value, from: null, to: null })}>
            {curves.map((row) => <option key={keyOf(row)} value={keyOf(row)}>{curveText(row, profiles)}</option>)}
          </select>
        </label>
        <RangeFields label={t("memory-page.range-ms")} from={given.from} to={given.to} ends={[curve?.at_ns[0], curve?.at_ns.at(-1)]} scale={1e6} choose={(from, to) => change({ from, to })} />
        {narrowed && (
          <p class="filtered">
            {t("memory-page.range", { from: quantityText(given.from, "ns"), to: quantityText(given.to, "ns") })}{" "}
            <button type="button" onClick={() => change({ from: null, to: null })}>{t("memory-page.whole")}</button>
          </p>
        )}
      </div>
      {chart && <Legend parts={(chart.groups[0]?.lines ?? []).map((line) => ({ kind: line.kind, label: line.label }))} />}
      {chart && <ChartView chart={chart} title={`${t("memory-page.curve")} ${component}`} height={320} onZoom={zoom} />}
      {curve && <p class="note">{t("memory-page.points", { shown: curve.at_ns.length, count: curve.recorded })}</p>}
      <BlockTable run={run} profile={profile} peak={typeof chosen?.["peak_ts_ns"] === "number" ? chosen["peak_ts_ns"] : null} />
    </Card>
  );
}

function keyOf(row: Row): string {
  return `${row["profile_id"]}/${row["component"]}`;
}

function curveText(row: Row, profiles: readonly ListedProfile[]): string {
  const profile = profiles.find((one) => one.profile_id === row["profile_id"]);
  const most = row["peak_reserved_bytes"] ?? row["peak_allocated_bytes"] ?? row["peak_active_bytes"];
  const size = typeof most === "number" ? `, ${quantityText(most, "bytes")}` : "";
  return `${String(row["component"])}${profiles.length > 1 && profile ? ` \u00b7 ${profileText(profile)}` : ""}${size}`;
}

function lines(curve: CurvePart): LinesChart {
  const found = LINES.map((kind) => ({ kind, label: columnText(`${kind}_bytes`), x: curve.at_ns, y: curve[`${kind}_bytes`] }));
  return {
    type: "lines",
    xUnit: "ns",
    unit: "bytes",
    stepped: true,
    groups: [{ label: "", lines: found.filter((line) => line.y.some((value) => value !== null)) }],
  };
}
