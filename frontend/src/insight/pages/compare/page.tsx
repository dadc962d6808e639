/** Two runs: the verdict, metrics before and after, what the difference is made of; and how metrics developed. */

import { useMemo } from "preact/hooks";
import type { StackChart } from "../../../report/data";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import type { Comparison, Contribution, Judgement } from "../../api/types";
import { Card, Choice, Legend } from "../../controls/card";
import { ChartView } from "../../controls/chart";
import { Page } from "../../controls/page";
import { Pending } from "../../controls/pending";
import { RowsTable } from "../../controls/rows-table";
import { Notice } from "../../shell/notice";
import { change, href, oneOf, parameters, text } from "../../shell/router";
import { session } from "../../shell/session";
import { language } from "../../shell/settings";
import { named, t } from "../../shell/words";
import { CallChangesCard } from "./calls";
import { FusedCard } from "./fused";
import { changeClass, changeText, metricText } from "./metric";
import { TrendCard } from "./trend";

const GOOD = new Set(["improved", "no change"]);

export function ComparePage() {
  const runs = session.value?.runs ?? [];
  const given = parameters({ base: text(), candidate: text(), tab: oneOf("result", "calls", "fused") });
  const base = runs.find((run) => run.id === given.base) ?? runs[0];
  const candidate = runs.find((run) => run.id === given.candidate && run !== base) ?? runs.find((run) => run !== base);
  const ready = base?.state === "ready" && candidate?.state === "ready";
  const { value, error, again } = useAsked<Comparison>(ready && given.tab === "result" ? "comparison" : null, { base: base?.id, candidate: candidate?.id, lang: language.value }, true);
  return (
    <Page name="compare">
      {candidate && base ? (
        <div class="page-head">
          <p class="sides">
            <b>{t("compare.baseline")}</b> {base.name} <span aria-hidden="true">{"\u2192"}</span> <b>{t("compare.candidate")}</b> {candidate.name}
          </p>
          <div class="fields">
            <button type="button" onClick={() => change({ base: candidate.id, candidate: base.id, root: null })}>{t("compare-page.swap")}</button>
            <a class="to-timeline" href={href("timeline", { compare: true })}>{t("compare-page.timeline")}</a>
          </div>
        </div>
      ) : (
        <section class="card">
          <h1>{t("page.compare")}</h1>
          <p>{t("compare-page.one-run")} <code>ascend-sn view RUN RUN2</code></p>
        </section>
      )}
      {ready && (
        <Choice
          label={t("compare-page.tabs")} value={given.tab} choose={(tab) => change({ tab, root: null })}
          choices={[["result", t("compare-page.result")], ["calls", t("operators.call_paths")], ["fused", t("compare-page.fused")]] as const}
        />
      )}
      {ready && given.tab === "calls" && <CallChangesCard base={base.id} candidate={candidate.id} />}
      {ready && given.tab === "fused" && <FusedCard base={base.id} candidate={candidate.id} />}
      {Boolean(error) && <Notice error={error} again={again} />}
      {ready && given.tab === "result" && !value && !error && <Pending text={t("compare-page.comparing")} />}
      {value && given.tab === "result" && <Compared value={value} />}
      {session.value?.history && given.tab === "result" && <TrendCard />}
    </Page>
  );
}

const LOW_SAID = "compare.said.low-confidence";

function Compared({ value }: { value: Comparison }) {
  const [headline, ...others] = value.said;
  const side = (runs: Comparison["baseline"]): string => runs.map((run) => run.name).join(", ");
  const parts = useMemo(() => partsChart(value), [value]);
  return (
    <>
      <section class={`card verdict ${GOOD.has(value.verdict) ? "good" : value.verdict === "regression" ? "bad" : ""}`}>
        <h1>{headline?.text}</h1>
        {others.map((one) => <p key={one.text}>{one.text}</p>)}
        {value.confidence === "low" && !value.said.some((one) => one.message_id === LOW_SAID) && <p class="soft">{t("compare-page.low")}</p>}
        {value.remarks.map((one) => <p key={one.text} class="soft">{one.text}</p>)}
      </section>
      {value.metrics.length > 0 && <Metrics rows={value.metrics} owner={ownerText(value)} />}
      {parts && (
        <Card title={t("compare.parts")} note={t("compare.parts-note")}>
          <Legend parts={parts.parts} />
          <ChartView chart={parts} title={`${t("compare.parts")}: ${side(value.baseline)}, ${side(value.candidate)}`} />
        </Card>
      )}
      {value.difference && <Difference difference={value.difference} />}
      {value.recoveries.length > 0 && (
        <Card title={t("compare-page.recoveries")} note={t("compare-page.recoveries-note")}>
          <RowsTable
            title={t("compare-page.recoveries")}
            rows={value.recoveries}
            columns={[
              { title: t("compare-page.cause"), left: true, text: (row) => causeText(row.kind, row.name) },
              { title: t("compare-page.added"), text: (row) => signed(row.delta_ns) },
              { title: t("compare-page.recovered"), text: (row) => quantityText(row.recovered_ns, "ns") },
              { title: t("col.share_ratio"), text: (row) => quantityText(row.recovered_ratio, "ratio") },
              { title: t("findings.confidence"), left: true, text: (row) => named("confidence", row.confidence) },
            ]}
          />
        </Card>
      )}
      {value.operators.length > 0 && (
        <Card title={t("compare.operators")} note={t("compare.operators-note")}>
          <RowsTable
            title={t("compare.operators")}
            rows={value.operators}
            columns={[
              { title: t("col.name"), left: true, text: (row) => row.name },
              { title: t("compare-page.change"), text: (row) => signed(row.delta_ns) },
              { title: t("compare-page.p"), text: (row) => row.p_value.toPrecision(2) },
            ]}
          />
        </Card>
      )}
      {value.collectives.length > 0 && (
        <Card title={t("compare.collectives")} note={t("compare.collectives-note")}>
          <RowsTable
            title={t("compare.collectives")}
            rows={value.collectives}
            columns={[
              { title: t("col.op"), left: true, text: (row) => row.op },
              { title: t("compare-page.before"), text: (row) => quantityText(row.base?.total_ns, "ns") },
              { title: t("compare-page.after"), text: (row) => quantityText(row.candidate?.total_ns, "ns") },
              { title: t("compare-page.change"), text: (row) => (row.base && row.candidate ? signed(row.candidate.total_ns - row.base.total_ns) : "-") },
              { title: t("compare-page.calls-before"), text: (row) => quantityText(row.base?.calls, "count") },
              { title: t("compare-page.calls-after"), text: (row) => quantityText(row.candidate?.calls, "count") },
            ]}
          />
        </Card>
      )}
    </>
  );
}

/** Whose memory the peaks are: of both sides where they differ. */
function ownerText({ baseline, candidate }: Comparison): string {
  const [before, after] = [baseline, candidate].map((runs) => [...new Set(runs.flatMap((run) => run.peak_component ?? []))].join(", "));
  return before === after ? before ?? "" : `${before || "-"} \u2192 ${after || "-"}`;
}

function Metrics({ rows, owner }: { rows: readonly Judgement[]; owner: string }) {
  return (
    <Card title={t("compare.before-after")} note={t("compare-page.interval-note")}>
      <RowsTable<Judgement>
        title={t("compare.before-after")}
        rows={rows}
        columns={[
          { title: t("compare-page.metric"), left: true, text: (row) => (row.metric === "peak_memory" && owner !== "" ? `${metricText(row.metric)} (${owner})` : metricText(row.metric)) },
          { title: t("compare-page.before"), text: (row) => quantityText(row.base, row.unit) },
          { title: t("compare-page.after"), text: (row) => quantityText(row.candidate, row.unit) },
          { title: t("compare-page.change"), text: (row) => <span class={changeClass(row)}>{changeText(row.change, row.change_kind)}</span> },
          { title: t("compare-page.interval"), text: (row) => (row.low === null || row.high === null ? "-" : `${changeText(row.low, row.change_kind)} \u2026 ${changeText(row.high, row.change_kind)}`) },
          { title: t("compare-page.limit"), text: (row) => (row.limit === null ? "-" : changeText(row.worse === "up" ? row.limit : -row.limit, row.change_kind)) },
          { title: t("compare-page.verdict"), left: true, text: (row) => (row.verdict === null ? "-" : named("word", row.verdict)) },
        ]}
      />
    </Card>
  );
}

function Difference({ difference }: { difference: NonNullable<Comparison["difference"]> }) {
  const most = Math.max(1, ...difference.rows.map((row) => Math.abs(row.delta_ns)));
  const note = t("compare-page.difference-note", { difference: signed(difference.difference_ns), matched: named("compare", `matched.${difference.matched_by.replace(/[^a-z]+/g, "-")}`), shown: difference.rows.length, count: difference.row_count });
  return (
    <Card title={t("compare.difference")} note={note}>
      <RowsTable<Contribution>
        title={t("compare.difference")}
        rows={difference.rows}
        columns={[
          { title: t("compare-page.cause"), left: true, text: whatText },
          { title: t("compare-page.adds"), text: (row) => signed(row.delta_ns) },
          { title: t("compare-page.adds-drawn"), left: true, text: (row) => <DeltaBar ratio={row.delta_ns / most} /> },
          { title: t("compare-page.before"), text: (row) => (row.state === "new" ? "-" : quantityText(row.base_total_ns, "ns")) },
          { title: t("compare-page.after"), text: (row) => (row.state === "removed" ? "-" : quantityText(row.candidate_total_ns, "ns")) },
          { title: t("compare-page.calls-before"), text: (row) => quantityText(row.base_calls, "count") },
          { title: t("compare-page.calls-after"), text: (row) => quantityText(row.candidate_calls, "count") },
          { title: t("link.timeline"), text: (row) => (FOUND_BY_NAME.has(row.kind) ? <a href={href("timeline", { compare: true, text: row.name })} aria-label={t("link.timeline-of", { name: row.name })}>{"\u2197"}</a> : "-") },
        ]}
      />
      <p class="note">{t("compare-page.others", { time: signed(difference.others_ns) })}</p>
    </Card>
  );
}

/** Shorter to the left in blue, longer to the right in orange. */
function DeltaBar({ ratio }: { ratio: number }) {
  const width = `${50 * Math.min(1, Math.abs(ratio))}%`;
  return (
    <span class="delta" aria-hidden="true">
      <span class={ratio > 0 ? "longer" : "shorter"} style={ratio > 0 ? { left: "50%", width } : { right: "50%", width }} />
    </span>
  );
}

function partsChart(value: Comparison): StackChart | null {
  if (!value.parts.length) return null;
  return {
    type: "stack",
    unit: "ns",
    categories: [t("compare.baseline"), t("compare.candidate")],
    parts: value.parts
      .map((part) => ({ kind: part.part.replace(/_ns$/, ""), label: named("part", part.part), values: [part.base_ns, part.candidate_ns] }))
      .filter((part) => part.values.some((one) => one > 0)),
  };
}

function whatText(row: Contribution) {
  const more = row.shapes ?? row.module;
  return <>{causeText(row.kind, row.name)}{more && <small class="soft shapes">{more}</small>}</>;
}

/** Kinds whose name is that of slices; the others are named by a cause. */
const FOUND_BY_NAME: ReadonlySet<string> = new Set(["compute", "communication"]);

function causeText(kind: string, name: string): string {
  if (kind === "free") return t("compare-page.free", { cause: named("free-cause", name) });
  if (kind === "concurrent" || kind === "uneven") return named("kind-of", kind);
  return `${named("kind-of", kind)}: ${kind === "copy" ? named("copy", name) : name}`;
}

function signed(ns: number): string {
  return `${ns > 0 ? "+" : ""}${quantityText(ns, "ns")}`;
}
