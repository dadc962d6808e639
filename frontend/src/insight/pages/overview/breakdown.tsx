/** Where the step goes, per rank: bars, and all steps as a table. */

import { useMemo } from "preact/hooks";
import type { StackChart } from "../../../report/data";
import type { Document, MedianStep, Phases } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Legend } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { sliceHref } from "../../controls/links";
import { rankText } from "../../controls/rank-select";
import { ServerTable } from "../../controls/server-table";
import { named, t } from "../../shell/words";
import { drawnRanks } from "./drawn-ranks";

type Told = Document["breakdown"];

const PARTS = ["compute", "exposed_comm", "exposed_copy", "free"] as const;
const PHASES = ["data", "forward", "backward", "communication", "optimizer", "other"] as const;

export function BreakdownCard({ run, breakdown }: { run: string; breakdown: Told }) {
  const all = breakdown.ranks ?? [];
  const ranks = useMemo(() => drawnRanks(all, (row) => row.window_ns), [breakdown]);
  const chart = useMemo(() => stack(ranks, PARTS.map((part) => [part, named("part", `${part}_ns`), (row: MedianStep) => row[`${part}_ns`]])), [ranks]);
  if (!breakdown.collected) return <Card title={t("overview.breakdown")}><Absent why={breakdown} /></Card>;
  const whole = breakdown.scope === "whole capture";
  const pick = (at: number): void => {
    const row = ranks[at];
    if (row?.step_id != null) location.hash = sliceHref({ table: "step", profile: row.profile_id, key: row.step_id });
  };
  return (
    <Card title={t("overview.breakdown")} note={whole ? t("overview.of-capture") : t("overview.of-step")}>
      {chart && <Legend parts={chart.parts} />}
      {chart && <ChartView chart={chart} title={t("overview.breakdown")} onPick={whole ? undefined : pick} />}
      {ranks.length < all.length && <p class="note">{t("overview.longest", { shown: ranks.length, count: all.length })}</p>}
      <details>
        <summary>{t("overview.all-steps")}</summary>
        <ServerTable run={run} name="steps" title={t("overview.all-steps")} searchable={false} />
      </details>
    </Card>
  );
}

export function PhasesCard({ breakdown }: { breakdown: Told }) {
  const all = breakdown.phases ?? [];
  const rows = useMemo(() => drawnRanks(all, (row) => PHASES.reduce((sum, phase) => sum + row[`${phase}_ns`], 0)), [breakdown]);
  const chart = useMemo(() => stack(rows, PHASES.map((phase) => [phase, named("phase", phase), (row: Phases) => row[`${phase}_ns`]])), [rows]);
  const told = chart?.parts.some((part) => part.kind !== "communication" && part.kind !== "other");
  if (!chart || !told) return null;
  return (
    <Card title={t("overview.phases")} note={t("overview.phases-note")}>
      <Legend parts={chart.parts} />
      <ChartView chart={chart} title={t("overview.phases")} />
      {rows.length < all.length && <p class="note">{t("overview.longest", { shown: rows.length, count: all.length })}</p>}
    </Card>
  );
}

function stack<T extends { rank: number | null }>(rows: readonly T[], parts: readonly (readonly [string, string, (row: T) => number])[]): StackChart | null {
  if (!rows.length) return null;
  return {
    type: "stack",
    unit: "ns",
    categories: rows.map((row) => rankText(row.rank)),
    parts: parts.map(([kind, label, of]) => ({ kind, label, values: rows.map(of) })).filter((part) => part.values.some((value) => value > 0)),
  };
}
