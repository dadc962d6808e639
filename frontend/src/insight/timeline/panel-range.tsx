/** What ran in the selected time: parts of the time of each rank, and slices by name. */

import { useState } from "preact/hooks";
import { percentText, quantityText } from "../../text/quantities";
import type { Breakdown, SelectionRow } from "../api/timeline";
import { named, t } from "../shell/words";
import type { Controls } from "./controls";
import type { LaneOf } from "./model";
import { csvText, download } from "./csv";
import { Tool } from "./icons";
import { type Column, Rows, sorted } from "./rows";
import { lengthOf } from "./scale";
import { Swatch } from "./swatch";

const PARTS: readonly [keyof Breakdown & `${string}_ns`, string][] = [
  ["compute_ns", "compute"],
  ["overlapped_ns", "overlapped_communication"],
  ["exposed_comm_ns", "exposed_communication"],
  ["exposed_copy_ns", "exposed_copy"],
  ["free_ns", "free"],
];

interface Row extends SelectionRow {
  run: string;
}

export function RangePanel({ controls }: { controls: Controls }) {
  const { model } = controls;
  const [sort, setSort] = useState({ key: "total", falling: true });
  const range = model.range.value;
  if (!range) return <p class="tl-hint">{t("timeline.range.none")}</p>;
  const selection = model.selection.value;
  const rows: Row[] = (selection ?? []).flatMap(({ run, found }) => found.rows.map((row) => ({ ...row, run })));
  const rowCount = (selection ?? []).reduce((all, { found }) => all + found.row_count, 0);
  const placeOf = (row: Row): LaneOf | undefined => model.lanes.value.get(`${row.run}.${row.profile_id}.${row.track}`);
  const columns = columnsOf(placeOf, model.runs.value.length > 1);
  const ordered = sorted(rows, columns, sort);
  const save = (): void =>
    download("range.csv", "text/csv", csvText(
      ["rank", "lane", "name", "kind", "count", "total_ns", "self_ns", "mean_ns", "min_ns", "max_ns"],
      ordered.map((row) => [placeOf(row)?.profile.label ?? String(row.profile_id), row.track_label, row.name, row.kind, row.count, row.total_ns, row.self_ns, row.mean_ns, row.min_ns, row.max_ns]),
    ));
  return (
    <div class="tl-range" aria-busy={model.selecting.value}>
      <div class="tl-slice-head">
        <h2>{quantityText(lengthOf(range), "ns")}</h2>
        <span class="soft">
          {range.lanes === null ? t("timeline.range.all") : t("timeline.lanes", { count: range.lanes.length })}
          {` \u00b7 ${t("timeline.range.whole")}`}
          {rowCount > rows.length && ` \u00b7 ${t("timeline.range.first", { shown: rows.length, count: rowCount })}`}
        </span>
        <span class="tl-buttons">
          <Tool icon="all" says={t("timeline.range.fit")} act={() => controls.mover.fit(range.from, range.to)} />
          <Tool icon="flag" says={t("timeline-key.mark")} act={() => controls.marker.add(range.from)} />
          <Tool icon="save" says={t("timeline.csv")} act={save} disabled={rows.length === 0} />
          <Tool icon="close" says={t("timeline.range.clear")} act={() => controls.ranger.clear()} />
        </span>
      </div>
      {selection === null ? (
        <p class="soft" role="status">{t("timeline.loading")}</p>
      ) : (
        <>
          {selection.map(({ run, found }) => <Parts key={run} controls={controls} run={run} parts={found.breakdown} />)}
          <Rows label={t("timeline.range.table")} columns={columns} rows={ordered} sort={sort} onSort={setSort} />
        </>
      )}
    </div>
  );
}

function columnsOf(placeOf: (row: Row) => LaneOf | undefined, several: boolean): Column<Row>[] {
  const runOf = (row: Row): string => placeOf(row)?.run.name ?? row.run;
  const rankOf = (row: Row): string => placeOf(row)?.profile.label ?? "";
  const laneOf = (row: Row): string => placeOf(row)?.track.label ?? row.track_label;
  const time = (key: "total_ns" | "mean_ns" | "min_ns" | "max_ns", says: string): Column<Row> => ({
    key: key.replace("_ns", ""), says, right: true, cell: (row) => quantityText(row[key], "ns"), by: (row) => row[key],
  });
  return [
    ...(several ? [{ key: "run", says: t("timeline.column.run"), cell: runOf, by: runOf }] : []),
    { key: "name", says: t("timeline.column.name"), cell: (row) => <span class="tl-named"><Swatch kind={row.kind} />{row.name}</span>, by: (row) => row.name },
    { key: "rank", says: t("timeline.column.rank"), cell: rankOf, by: rankOf },
    { key: "lane", says: t("timeline.column.lane"), cell: laneOf, by: laneOf },
    { key: "count", says: t("timeline.column.count"), right: true, cell: (row) => quantityText(row.count, "count"), by: (row) => row.count },
    time("total_ns", t("timeline.column.total")),
    { key: "self", says: t("timeline.column.self"), right: true, cell: (row) => quantityText(row.self_ns, "ns"), by: (row) => row.self_ns ?? -1 },
    time("mean_ns", t("timeline.column.mean")),
    time("min_ns", t("timeline.column.min")),
    time("max_ns", t("timeline.column.max")),
  ];
}

/** One bar for each rank; the figures are the server's. */
function Parts({ controls, run, parts }: { controls: Controls; run: string; parts: readonly Breakdown[] }) {
  const profiles = controls.model.dataOf(run)?.tracks.profiles ?? [];
  const shown = parts.flatMap((part) => {
    const known = PARTS.flatMap(([key, kind]) => {
      const ns = part[key];
      return typeof ns === "number" && ns > 0 ? [{ kind, ns }] : [];
    });
    const total = known.reduce((all, one) => all + one.ns, 0);
    const profile = profiles.find((one) => one.profile_id === part.profile_id);
    return total > 0 && profile ? [{ profile, known, total }] : [];
  });
  if (shown.length === 0) return null;
  return (
    <ul class="tl-parts" aria-label={t("timeline.range.parts")}>
      {shown.map(({ profile, known, total }) => (
        <li key={profile.profile_id}>
          <span class="tl-parts-who">{profile.label}</span>
          <span class="tl-parts-words">
            {known.map(({ kind, ns }) => (
              <span key={kind} class="tl-part">
                <Swatch kind={kind} /> {named("timeline-kind", kind)} <b>{quantityText(ns, "ns")}</b> {percentText(ns / total)}
              </span>
            ))}
          </span>
          <span class="tl-parts-bar" aria-hidden="true">
            {known.map(({ kind, ns }) => <span key={kind} class={`tl-piece ${kind}`} style={{ flexGrow: String(ns) }} />)}
          </span>
        </li>
      ))}
    </ul>
  );
}
