/** Pairs of ranks as a heat map: bandwidth, share of the peak, bytes, time, waiting. The table beside it holds the figures. */

import { useMemo } from "preact/hooks";
import type { HeatChart } from "../../../report/data";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import type { TableAnswer } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Choice } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { columnText, wordText } from "../../controls/cells";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import { change, number, oneOf, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";

const METRICS = ["bandwidth_bytes_per_s", "bandwidth_ratio", "size_bytes", "dur_ns", "mean_wait_ns"] as const;
type Metric = (typeof METRICS)[number];

const KINDS: Record<Metric, HeatChart["metrics"][number]> = {
  bandwidth_bytes_per_s: { label: "", unit: "bytes_per_s", lowIsBad: true, wide: false },
  bandwidth_ratio: { label: "", unit: "ratio", lowIsBad: true, wide: false },
  size_bytes: { label: "", unit: "bytes", lowIsBad: false, wide: true },
  dur_ns: { label: "", unit: "ns", lowIsBad: false, wide: true },
  mean_wait_ns: { label: "", unit: "ns", lowIsBad: false, wide: true },
};
const MOST = 1000;

/** Sending ranks that are drawn together, where not all pairs fit into one answer. */
const SENDERS = 32;

interface Pairs {
  value: TableAnswer | null;
  /** How many pairs there are and who sends last, where only some senders are drawn; else null. */
  windows: { count: number; last: number } | null;
  /** The first of the senders that are drawn. */
  first: number;
}

/** All pairs, or, of too many, those of the chosen senders: at first those with the worst pair. */
function usePairs(run: string, senders: number | null): Pairs {
  const path = runPath(run, "tables/rank_pairs");
  const all = useAsked<TableAnswer>(path, { count: MOST }, true).value;
  const many = all !== null && all.row_count > MOST;
  const first = senders ?? Math.floor(senderOf(all) / SENDERS) * SENDERS;
  const last = useAsked<TableAnswer>(many ? path : null, { count: 1, sort: "src_rank", descending: true }, true).value;
  const some = useAsked<TableAnswer>(many ? path : null, { from_rank: first, to_rank: first + SENDERS - 1, count: MOST }).value;
  if (!many) return { value: all, windows: null, first };
  return { value: some, windows: last && { count: all.row_count, last: senderOf(last) }, first };
}

function senderOf(answer: TableAnswer | null): number {
  const values = answer?.rows[0];
  return answer && values ? Number(rowOf(answer.columns, values)["src_rank"] ?? 0) : 0;
}

function windowsOf(last: number): number[] {
  return Array.from({ length: Math.floor(last / SENDERS) + 1 }, (_, at) => at * SENDERS);
}

export function PairsCard({ run, group: asked = "" }: { run: string; group?: string }) {
  const { metric, pairs, senders } = parameters({ metric: oneOf<Metric>(...METRICS), pairs: text(), senders: number() });
  const { value, windows, first } = usePairs(run, senders);
  const rows = useMemo(() => (value ? value.rows.map((values) => rowOf(value.columns, values)) : []), [value]);
  const groups = [...new Set(rows.map((row) => String(row["group_id"] ?? "")))];
  const group = groups.includes(pairs) ? pairs : groups.includes(asked) ? asked : (groups[0] ?? "");
  const ofGroup = useMemo(() => rows.filter((row) => String(row["group_id"] ?? "") === group), [rows, group]);
  const known = METRICS.filter((one) => ofGroup.some((row) => typeof row[one] === "number"));
  const shown = known.includes(metric) ? metric : (known[0] ?? metric);
  const chart = useMemo(() => heat(ofGroup, known), [ofGroup]);
  // One reason for all pairs is said once, not in every row.
  const reasons = new Set(rows.map((row) => row["bandwidth_reason"]));
  const reason = reasons.size === 1 && windows === null ? wordText("bandwidth_reason", [...reasons][0]) : null;
  return (
    <Card title={t("comm.pairs")} note={group === "" ? t("comm.pairs-ranks") : t("comm.pairs-places")}>
      {value && value.state !== "collected" && <Absent why={value} />}
      {value && windows && (
        <div class="fields">
          <label class="field">
            <span>{t("comm.senders")}</span>
            <select value={String(first)} onChange={(event) => change({ senders: Number(event.currentTarget.value) })}>
              {windowsOf(windows.last).map((from) => <option key={from} value={String(from)}>{`${from}\u2013${Math.min(from + SENDERS - 1, windows.last)}`}</option>)}
            </select>
          </label>
          <span class="soft">{t("comm.pairs-drawn", { shown: rows.length, count: windows.count })}</span>
        </div>
      )}
      {groups.length > 1 && (
        <label class="field">
          <span>{t("col.group_id")}</span>
          <select value={group} onChange={(event) => change({ pairs: event.currentTarget.value })}>
            {groups.map((one) => <option key={one} value={one}>{one || t("comm.job")}</option>)}
          </select>
        </label>
      )}
      {chart && (
        <>
          <Choice label={t("comm.metric")} choices={known.map((one) => [one, columnText(one)] as const)} value={shown} choose={(one) => change({ metric: one })} />
          <p class="note">{KINDS[shown].lowIsBad ? t("comm.low-is-dark") : t("comm.high-is-dark")}</p>
          <div class="scroll heat" tabIndex={0} role="region" aria-label={t("comm.pairs")}><ChartView chart={chart} view={known.indexOf(shown)} title={`${t("comm.pairs")}: ${columnText(shown)}`} onPick={(at) => pick(withValue(ofGroup, shown)[at])} /></div>
        </>
      )}
      {reason !== null && <p class="note">{t("comm.no-share", { reason })}</p>}
      {value?.state === "collected" && <ServerTable run={run} name="rank_pairs" title={t("comm.pairs")} rows={12} without={reason === null ? [] : ["bandwidth_reason"]} pick={{ label: t("comm.show-links"), act: pick }} />}
    </Card>
  );
}

/** The cells that are drawn are those with a value, in the order of the rows. */
function withValue(rows: readonly Row[], metric: Metric): readonly Row[] {
  return rows.filter((row) => typeof row[metric] === "number");
}

/** Shows the links of a pair below. */
function pick(row: Row | undefined): void {
  if (!row) return;
  change({ from: Number(row["src_rank"]), to: Number(row["dst_rank"]) });
  const links = document.getElementById("links");
  links?.scrollIntoView();
  links?.focus({ preventScroll: true });
}

function heat(rows: readonly Row[], metrics: readonly Metric[]): HeatChart | null {
  if (!rows.length || !metrics.length) return null;
  const ends = (name: string): number[] => [...new Set(rows.map((row) => Number(row[name])))].sort((a, b) => a - b);
  const senders = ends("src_rank");
  const receivers = ends("dst_rank");
  return {
    type: "heat",
    rows: senders.map(String),
    columns: receivers.map(String),
    metrics: metrics.map((one) => ({ ...KINDS[one], label: columnText(one) })),
    cells: rows.map((row) => [
      senders.indexOf(Number(row["src_rank"])),
      receivers.indexOf(Number(row["dst_rank"])),
      ...metrics.map((one) => (typeof row[one] === "number" ? (row[one] as number) : null)),
    ]),
  };
}
