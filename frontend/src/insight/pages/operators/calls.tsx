/** What called what: an icicle of call paths, and the same as a tree in a table. */

import { useMemo } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { apiUrl, runPath } from "../../api/client";
import type { CallPath, CallPaths } from "../../api/types";
import { Absent } from "../../controls/absent";
import { placed } from "../../controls/call-layout";
import { Card, Choice } from "../../controls/card";
import { columnText } from "../../controls/cells";
import { Crumbs } from "../../controls/crumbs";
import { Icicle } from "../../controls/icicle";
import { TimelineLink } from "../../controls/links";
import { RowsTable } from "../../controls/rows-table";
import { StepField } from "../../controls/step-field";
import { Notice } from "../../shell/notice";
import { change, number, oneOf, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";

const MEASURES = ["total", "self", "device"] as const;
const ROWS = 200;

export function CallsCard({ run, profile }: { run: string; profile: number | null }) {
  const given = parameters({ measure: oneOf(...MEASURES), root: number(), from_step: number(), to_step: number(), contains: text() });
  const asked = { profile, measure: given.measure, root: given.root, from_step: given.from_step, to_step: given.to_step };
  const path = runPath(run, "call-paths");
  const { value, error, loading, again } = useAsked<CallPaths>(path, asked);
  const title = t("operators.call_paths");
  const wanted = given.contains.trim().toLowerCase();
  const parts = useMemo(() => (value ? placed(value.paths, value.whole_ns, (one) => (given.measure === "device" ? one.device_ns : one.total_ns) ?? 0) : []), [value]);
  if (value && value.state !== "collected") return <Card title={title}><Absent why={value} /></Card>;
  const isFound = (one: CallPath): boolean => one.name.toLowerCase().includes(wanted);
  const choices = MEASURES.filter((one) => one !== "device" || value?.has_device !== false || given.measure === "device").map((one) => [one, t(`calls.${one}`)] as const);
  return (
    <Card title={title} note={t(`calls.${given.measure}-note`)}>
      <div class="fields">
        <Choice label={t("calls.measure")} choices={choices} value={given.measure} choose={(one) => change({ measure: one, root: null })} />
        {value?.first_step != null && value.last_step != null && value.first_step < value.last_step && (
          <>
            <StepField name="from_step" value={given.from_step} otherwise={value.first_step} />
            <StepField name="to_step" value={given.to_step} otherwise={value.last_step} />
          </>
        )}
        <input type="search" value={given.contains} placeholder={t("calls.search")} aria-label={t("calls.search")} onInput={(event) => change({ contains: event.currentTarget.value })} />
        {wanted !== "" && value && <span class="soft" role="status">{t("calls.found", { count: value.paths.filter(isFound).length })}</span>}
      </div>
      {error !== null && <Notice error={error} again={again} />}
      <Crumbs above={value?.above ?? []} isWhole={given.root === null} go={(root) => change({ root })} />
      {!value ? (
        error === null && <p class="soft pending" role="status">{t("table.loading")}</p>
      ) : (
        <div class={loading ? "loading" : ""} aria-busy={loading}>
          <p role="status">{t("calls.said", { size: quantityText(value.whole_ns, "ns"), count: value.path_count })}</p>
          {value.looked_into < value.profile_count && profile === null && <p class="note">{t("calls.some", { shown: value.looked_into, count: value.profile_count })}</p>}
          <Icicle
            help={t("calls.help")} parts={parts} shown={{ offset: 0, size: value.whole_ns, depth: 0 }} unnamed=""
            figures={(part) => saidOf(part.path, part.size, value.whole_ns)}
            found={wanted === "" ? null : (part) => isFound(part.path)}
            choose={(part) => change({ root: part.path.id === given.root ? (value.above.at(-2)?.id ?? null) : part.path.id })}
            leave={given.root === null ? undefined : () => change({ root: value.above.at(-2)?.id ?? null })}
          />
          {value.left_out_paths > 0 && <p class="note">{t("calls.left-out", { calls: value.left_out_calls, count: value.left_out_paths })}</p>}
          <CallTable paths={value.paths} measure={given.measure} fits={wanted === "" ? null : isFound} csv={apiUrl(path, { ...asked, format: "csv" })} count={value.path_count} />
        </div>
      )}
    </Card>
  );
}

function saidOf(path: CallPath, size: number, whole: number): string {
  return [quantityText(size, "ns"), quantityText(size / whole, "ratio"), t("operators.calls", { count: path.calls })].join(", ");
}

/** The largest paths in the order of the tree. */
function CallTable({ paths, measure, fits, csv, count }: { paths: readonly CallPath[]; measure: (typeof MEASURES)[number]; fits: ((path: CallPath) => boolean) | null; csv: string; count: number }) {
  const rows = useMemo(() => {
    const value = (path: CallPath): number => (measure === "device" ? (path.device_ns ?? 0) : path.total_ns);
    const fitting = fits ? paths.filter(fits) : paths;
    const least = fitting.length > ROWS ? ([...fitting].sort((one, other) => value(other) - value(one))[ROWS - 1] as CallPath) : null;
    return fitting.filter((path) => least === null || value(path) >= value(least)).slice(0, ROWS);
  }, [paths, measure, fits]);
  const outermost = paths[0]?.depth ?? 0;
  const device = paths.some((path) => path.device_ns !== null);
  return (
    <details>
      <summary>{t("calls.table")}</summary>
      <p class="table-bar">
        <span class="soft">{t("calls.rows", { shown: rows.length, count })}</span> <a class="download" href={csv} download="call_paths.csv">CSV</a>
      </p>
      <RowsTable
        title={t("operators.call_paths")}
        rows={rows}
        columns={[
          { title: t("calls.call"), left: true, text: (path) => <span class="call" style={{ paddingInlineStart: `${fits ? 0 : 12 * Math.min(path.depth - outermost, 24)}px` }}>{path.name}</span> },
          { title: columnText("depth"), text: (path) => path.depth },
          { title: columnText("calls"), text: (path) => path.calls.toLocaleString("en-US") },
          { title: columnText("total_ns"), text: (path) => quantityText(path.total_ns, "ns") },
          { title: columnText("self_ns"), text: (path) => quantityText(path.self_ns, "ns") },
          ...(device
            ? [
                { title: columnText("device_ns"), text: (path: CallPath) => quantityText(path.device_ns, "ns") },
                { title: columnText("device_self_ns"), text: (path: CallPath) => quantityText(path.device_self_ns, "ns") },
              ]
            : []),
          { title: columnText("longest_ns"), text: (path) => <LongestLink path={path} /> },
        ]}
      />
    </details>
  );
}

function LongestLink({ path }: { path: CallPath }) {
  const { table, profile_id, key, dur_ns } = path.longest;
  return (
    <TimelineLink to={{ table, profile: profile_id, key }} label={t("link.timeline-of", { name: path.name })}>
      {quantityText(dur_ns, "ns")} <span aria-hidden="true">{"\u2197"}</span>
    </TimelineLink>
  );
}
