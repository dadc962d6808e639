/** One call on all its ranks, on one clock: who came when, waited, moved bytes; the last one is marked. */

import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import type { TableAnswer } from "../../api/types";
import { Legend } from "../../controls/card";
import { TimelineLink } from "../../controls/links";
import { rankText } from "../../controls/rank-select";
import { type Row, rowOf } from "../../controls/server-table";
import { Notice } from "../../shell/notice";
import { change } from "../../shell/router";
import { named, t } from "../../shell/words";

const PARTS = ["wait", "transit", "idle"] as const;
const MOST = 256;

export function Members({ run, op, group, sequence }: { run: string; op: string; group: string; sequence: number }) {
  const { value, error, again } = useAsked<TableAnswer>(runPath(run, "tables/call_members"), { op, group_id: group, sequence, count: MOST });
  if (error) return <Notice error={error} again={again} />;
  if (!value) return null;
  const rows = value.rows.map((values) => rowOf(value.columns, values));
  const placed = rows.some((row) => row["lag_ns"] !== null);
  const end = Math.max(1, ...rows.map((row) => numberOf(row["lag_ns"]) + numberOf(row["dur_ns"])));
  const errors = rows.map((row) => row["error_ns"]).filter((one): one is number => typeof one === "number" && one > 0);
  return (
    <figure class="members">
      <figcaption>
        <b>{t("comm.call", { op, sequence })}</b> <span class="soft">{placed ? t("comm.call-aligned") : t("comm.call-not-aligned")}</span>
        {errors.length > 0 && <span class="soft"> {t("comm.call-error", { error: quantityText(Math.max(...errors), "ns") })}</span>}
        <button type="button" onClick={() => change({ op: null, group: null, call: null })}>{t("help.close")}</button>
      </figcaption>
      <Legend parts={[...PARTS, "unknown" as const].map((part) => ({ kind: part, label: named("part", `${part}_ns`) }))} />
      <ol>
        {rows.map((row) => <Member key={String(row["profile_id"])} row={row} end={end} />)}
      </ol>
      {value.row_count > rows.length && <p class="note">{t("map.first", { shown: rows.length, count: value.row_count })}</p>}
    </figure>
  );
}

function Member({ row, end }: { row: Row; end: number }) {
  const share = (value: number): string => `${(100 * value) / end}%`;
  const known = row["method"] !== null;
  const parts = known ? PARTS.map((part) => [part, numberOf(row[`${part}_ns`])] as const) : [["unknown", numberOf(row["dur_ns"])] as const];
  const said = parts.map(([part, time]) => `${named("part", `${part}_ns`)} ${quantityText(time, "ns")}`).join(", ");
  const late = row["is_last"] === true;
  return (
    <li class={late ? "last" : ""}>
      <span class="who">
        {rankText(row["rank"] as number | null)}
        {late && <b class="late">{t("comm.last", { lag: quantityText(numberOf(row["lag_ns"]), "ns") })}</b>}
      </span>
      <span class="lane" role="img" aria-label={`${t("comm.starts", { lag: quantityText(numberOf(row["lag_ns"]), "ns") })} ${said}`} title={said}>
        <span class="before" style={{ width: share(numberOf(row["lag_ns"])) }} />
        {parts.map(([part, time]) => <span key={part} class={`swatch ${part}`} style={{ width: share(time) }} />)}
      </span>
      <span class="much">{quantityText(numberOf(row["dur_ns"]), "ns")}</span>
      <TimelineLink to={{ table: "collective", profile: numberOf(row["profile_id"]), key: numberOf(row["collective_id"]) }} label={t("link.timeline-of", { name: rankText(row["rank"] as number | null) })}>
        <span aria-hidden="true">{"\u2197"}</span>
      </TimelineLink>
    </li>
  );
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : 0;
}
