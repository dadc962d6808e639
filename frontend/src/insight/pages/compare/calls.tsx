/** Where the host spent more or less of its time than before: call paths of both runs as one icicle, and as a table. */

import { useMemo } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { apiUrl } from "../../api/client";
import { useProfiles } from "../../api/profiles";
import type { CallPathChanges, ChangedPath, ListedProfile } from "../../api/types";
import { Absent } from "../../controls/absent";
import { placed } from "../../controls/call-layout";
import { Card, Choice } from "../../controls/card";
import { columnText, differenceText } from "../../controls/cells";
import { Crumbs } from "../../controls/crumbs";
import { Icicle } from "../../controls/icicle";
import { Pending } from "../../controls/pending";
import { rankText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { StepField } from "../../controls/step-field";
import { Notice } from "../../shell/notice";
import { change, number, oneOf, parameters } from "../../shell/router";
import { t } from "../../shell/words";
import { changeText, tint } from "./call-colour";

const MEASURES = ["total", "device"] as const;
const PATH = "call-path-changes";
const ROWS = 200;

export function CallChangesCard({ base, candidate }: { base: string; candidate: string }) {
  const given = parameters({ measure: oneOf(...MEASURES), root: number(), rank: number(), from_step: number(), to_step: number() });
  const { rank, from_step, to_step } = given;
  const asked = { base, candidate, rank, from_step, to_step, measure: given.measure, root: given.root };
  const ranks = ranksOfBoth(useProfiles(base), useProfiles(candidate));
  const { value, error, loading, again } = useAsked<CallPathChanges>(PATH, asked);
  const whole = value ? value.base_ns + value.candidate_ns : 0;
  const parts = useMemo(() => (value ? placed(value.paths, whole, (one) => one.base_ns + one.candidate_ns) : []), [value]);
  const title = t("compare-calls.title");
  if (value && value.state !== "collected") return <Card title={title}><Absent why={value} /></Card>;
  const outer = value?.above.at(-2)?.id ?? null;
  const choices = MEASURES.filter((one) => one !== "device" || value?.has_device !== false || given.measure === "device").map((one) => [one, t(`calls.${one}`)] as const);
  return (
    <Card title={title} note={t("compare-calls.note")}>
      <div class="fields">
        <Choice label={t("calls.measure")} choices={choices} value={given.measure} choose={(one) => change({ measure: one, root: null })} />
        {ranks.length > 1 && (
          <label class="field">
            <span>{t("rank.label")}</span>
            <select value={rank === null ? "" : String(rank)} onChange={(event) => change({ rank: event.currentTarget.value, root: null })}>
              <option value="">{t("rank.all")}</option>
              {ranks.map((one) => <option key={one} value={String(one)}>{rankText(one)}</option>)}
            </select>
          </label>
        )}
        {(value?.first_step != null && value.last_step != null && value.first_step < value.last_step) || from_step !== null || to_step !== null ? (
          <>
            <StepField name="from_step" value={from_step} otherwise={value?.first_step ?? 0} />
            <StepField name="to_step" value={to_step} otherwise={value?.last_step ?? 0} />
          </>
        ) : null}
      </div>
      {error !== null && <Notice error={error} again={again} />}
      <Crumbs above={value?.above ?? []} isWhole={given.root === null} go={(root) => change({ root })} />
      {!value ? (
        error === null && <Pending text={t("table.loading")} />
      ) : (
        <div class={loading ? "loading" : ""} aria-busy={loading}>
          <p role="status">
            {t(value.is_per_step ? "compare-calls.said-per-step" : "compare-calls.said", {
              before: quantityText(value.base_ns, "ns"), after: quantityText(value.candidate_ns, "ns"), change: changed(value),
            })}
          </p>
          <p class="change-scale"><span class="ramp" aria-hidden="true" /> {t("compare-calls.scale")}</p>
          <Icicle
            help={t("compare-calls.help")} parts={parts} shown={{ offset: 0, size: whole, depth: 0 }} unnamed=""
            figures={({ path }) => `${quantityText(path.base_ns, "ns")} \u2192 ${quantityText(path.candidate_ns, "ns")}`}
            mark={({ path }) => changed(path)}
            paint={({ path }) => tint(path.base_ns, path.candidate_ns)}
            choose={({ path }) => change({ root: path.id === given.root ? outer : path.id })}
            leave={given.root === null ? undefined : () => change({ root: outer })}
          />
          {value.left_out_paths > 0 && <p class="note">{t("compare-calls.left-out", { count: value.left_out_paths })}</p>}
          <ChangeTable paths={value.paths} csv={apiUrl(PATH, { ...asked, format: "csv" })} count={value.path_count} />
        </div>
      )}
    </Card>
  );
}

/** Ranks that both runs have, in order. */
export function ranksOfBoth(base: readonly ListedProfile[], candidate: readonly ListedProfile[]): number[] {
  const others = new Set(candidate.map((one) => one.rank));
  return [...new Set(base.flatMap((one) => (one.rank !== null && others.has(one.rank) ? [one.rank] : [])))];
}

function changed({ base_ns, candidate_ns }: { base_ns: number; candidate_ns: number }): string {
  return changeText(base_ns, candidate_ns, { fresh: t("compare-calls.new"), gone: t("compare-calls.gone") });
}

/** What changed most first, whichever way. */
function ChangeTable({ paths, csv, count }: { paths: readonly ChangedPath[]; csv: string; count: number }) {
  const rows = useMemo(() => [...paths].sort((one, other) => Math.abs(other.more_ns) - Math.abs(one.more_ns)).slice(0, ROWS), [paths]);
  const calls = (one: number | null): string => (one === null ? "-" : one.toLocaleString("en-US"));
  const time = (ns: number, longest: ChangedPath["base_longest"]): string => (longest === null ? "-" : quantityText(ns, "ns"));
  return (
    <details>
      <summary>{t("memory-moment.table")}</summary>
      <p class="table-bar">
        <span class="soft">{t("compare-calls.rows", { shown: rows.length, count })}</span> <a class="download" href={csv} download="call_path_changes.csv">CSV</a>
      </p>
      <RowsTable
        title={t("compare-calls.title")}
        rows={rows}
        columns={[
          { title: t("calls.call"), left: true, text: (row) => row.name },
          { title: columnText("depth"), text: (row) => row.depth },
          { title: t("compare-page.before"), text: (row) => time(row.base_ns, row.base_longest) },
          { title: t("compare-page.after"), text: (row) => time(row.candidate_ns, row.candidate_longest) },
          { title: t("compare-page.change"), text: (row) => <span class={row.more_ns > 0 ? "more" : row.more_ns < 0 ? "less" : ""}>{differenceText(row.more_ns, "ns")}</span> },
          { title: t("compare-page.calls-before"), text: (row) => calls(row.base_calls) },
          { title: t("compare-page.calls-after"), text: (row) => calls(row.candidate_calls) },
        ]}
      />
    </details>
  );
}
