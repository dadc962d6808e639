/** The critical path: what holds the step, by class, and its longest slices. */

import { quantityText } from "../../../text/quantities";
import type { CriticalPath } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card } from "../../controls/card";
import { sliceHref } from "../../controls/links";
import { rankText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { named, t } from "../../shell/words";

export function PathCard({ path }: { path: CriticalPath }) {
  if (!path.collected) return <Card title={t("path-page.title")}><Absent why={path} /></Card>;
  const slices = [...(path.slices ?? [])].sort((a, b) => b.dur_ns - a.dur_ns);
  return (
    <Card title={t("path-page.title")} note={[t("path-page.note"), ...(path.remarks ?? [])].join(" ")}>
      <ul class="shares">
        {path.classes?.map((one) => (
          <li key={one.time_class}>
            <span class="what">{named("path", one.time_class)}</span>
            <span class="share-bar" aria-hidden="true"><span style={{ width: `${100 * one.share_ratio}%` }} /></span>
            <span class="much">{quantityText(one.dur_ns, "ns")} ({quantityText(one.share_ratio, "ratio")})</span>
          </li>
        ))}
      </ul>
      <details>
        <summary>{t("path-page.slices", { shown: slices.length, count: path.slice_count ?? slices.length })}</summary>
        <RowsTable
          title={t("path-page.title")}
          rows={slices}
          columns={[
            { title: t("col.name"), left: true, text: (row) => row.name },
            { title: t("col.time_class"), left: true, text: (row) => named("path", row.time_class) },
            { title: t("col.rank"), left: true, text: (row) => rankText(row.rank) },
            { title: t("path-page.from-step"), text: (row) => quantityText(row.start_ns, "ns") },
            { title: t("col.dur_ns"), text: (row) => quantityText(row.dur_ns, "ns") },
            {
              title: t("link.timeline"),
              text: (row) =>
                row.table !== null && row.row_id !== null ? (
                  <a href={sliceHref({ table: row.table, profile: row.profile_id, key: row.row_id })} aria-label={t("link.timeline-of", { name: row.name })}>{"\u2197"}</a>
                ) : "-",
            },
          ]}
        />
      </details>
    </Card>
  );
}
