/** Memory at a moment: live blocks nested by their stacks, and the segments of the pool with the gaps between blocks. */

import { useMemo, useState } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { apiUrl, runPath } from "../../api/client";
import type { MemoryMoment, MemoryPart, ListedProfile } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card } from "../../controls/card";
import { columnText } from "../../controls/cells";
import { profileText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { Notice } from "../../shell/notice";
import { change, number, parameters, text } from "../../shell/router";
import { t } from "../../shell/words";
import { Flame } from "./flame";
import { PoolView } from "./pool";

const ROWS = 100;

export function MomentCard({ run, profiles, rank }: { run: string; profiles: readonly ListedProfile[]; rank: number | null }) {
  const given = parameters({ at: number(), device: text(), owner: number() });
  const profile = profiles.find((one) => one.profile_id === (given.owner ?? rank)) ?? profiles[0];
  const asked = { profile: profile?.profile_id, device: given.device, at_ns: given.at };
  const path = runPath(run, "memory-moment");
  const { value, error, again } = useAsked<MemoryMoment>(profile ? path : null, asked);
  const [typed, setTyped] = useState("");
  if (error) return <Card title={t("memory-moment.title")}><Notice error={error} again={again} /></Card>;
  if (!value) return <Card title={t("memory-moment.title")}><p class="soft pending" role="status">{t("table.loading")}</p></Card>;
  if (value.state !== "collected") return <Card title={t("memory-moment.title")}><Absent why={value} /></Card>;
  const go = (event: Event): void => {
    event.preventDefault();
    const moment = Number(typed);
    if (typed.trim() && Number.isFinite(moment)) change({ at: Math.round(moment * 1e6) });
  };
  const csv = (part: string): string => apiUrl(path, { ...asked, device: value.device, at_ns: value.at_ns, format: "csv", part });
  const unseen = value.allocated_bytes === null ? 0 : value.allocated_bytes - value.held_bytes;
  return (
    <Card title={t("memory-moment.title")} note={t("memory-moment.note")}>
      <form class="fields" onSubmit={go}>
        {profiles.length > 1 && (
          <label class="field">
            <span>{t("rank.label")}</span>
            <select value={profile?.profile_id} onChange={(event) => change({ owner: Number(event.currentTarget.value), device: null, at: null })}>
              {profiles.map((one) => <option key={one.profile_id} value={one.profile_id}>{profileText(one)}</option>)}
            </select>
          </label>
        )}
        {value.devices.length > 1 && (
          <label class="field">
            <span>{columnText("device")}</span>
            <select value={value.device} onChange={(event) => change({ device: event.currentTarget.value, at: null })}>
              {value.devices.map((one) => <option key={one} value={one}>{one}</option>)}
            </select>
          </label>
        )}
        <label class="field">
          <span>{t("memory-moment.at")}</span>
          <input type="text" inputMode="decimal" size={12} value={typed} placeholder={String(value.at_ns / 1e6)} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <button type="submit">{t("memory-moment.show")}</button>
        <button type="button" disabled={value.at_ns === value.peak_ns} onClick={() => { setTyped(""); change({ at: null }); }}>{t("memory-moment.peak")}</button>
      </form>
      <p role="status">{t("memory-moment.said", { device: value.device, at: quantityText(value.at_ns, "ns"), size: quantityText(value.held_bytes, "bytes"), count: value.block_count })}</p>
      {unseen > 0 && <p class="note">{t("memory-moment.unseen", { size: quantityText(unseen, "bytes") })}</p>}
      <h3>{t("memory-moment.stacks")}</h3>
      <Flame parts={value.parts} whole={value.held_bytes} />
      {value.parts.length < value.part_count && <p class="note">{t("memory-moment.cut", { shown: value.parts.length, count: value.part_count })}</p>}
      <StackTable parts={value.parts} whole={value.held_bytes} csv={csv("stacks")} count={value.part_count} />
      <h3>{t("memory-moment.pool")}</h3>
      <PoolPart value={value} csv={csv("segments")} />
    </Card>
  );
}

function StackTable({ parts, whole, csv, count }: { parts: readonly MemoryPart[]; whole: number; csv: string; count: number }) {
  const rows = useMemo(() => [...parts].sort((one, other) => other.held_bytes - one.held_bytes || one.depth - other.depth).slice(0, ROWS), [parts]);
  return (
    <details>
      <summary>{t("memory-moment.table")}</summary>
      <p class="table-bar"><span class="soft">{t("table.shown", { from: Math.min(1, rows.length), to: rows.length, count })}</span> <a class="download" href={csv} download="memory_stacks.csv">CSV</a></p>
      <RowsTable
        title={t("memory-moment.stacks")}
        rows={rows}
        columns={[
          { title: t("memory-moment.frame"), left: true, text: (row) => row.name || t("memory-moment.unknown") },
          { title: columnText("depth"), text: (row) => row.depth },
          { title: columnText("held_bytes"), text: (row) => quantityText(row.held_bytes, "bytes") },
          { title: columnText("share_ratio"), text: (row) => quantityText(whole ? row.held_bytes / whole : null, "ratio") },
          { title: columnText("block_count"), text: (row) => row.block_count },
        ]}
      />
    </details>
  );
}

function PoolPart({ value, csv }: { value: MemoryMoment; csv: string }) {
  if (value.segment_count === 0) {
    return <Absent why={{ state: "not_requested", reason: t("memory-moment.no-segments"), turn_on: "torch.cuda.memory._record_memory_history(), torch.cuda.memory._dump_snapshot()" }} />;
  }
  const size = value.segments.reduce((sum, one) => sum + one.size_bytes, 0);
  const free = value.segments.reduce((sum, one) => sum + one.free_bytes, 0);
  const largest = Math.max(0, ...value.segments.map((one) => one.largest_free_bytes));
  return (
    <>
      <p>{t("memory-moment.pool-said", { shown: value.segments.length, count: value.segment_count, size: quantityText(size, "bytes"), free: quantityText(free, "bytes"), largest: quantityText(largest, "bytes") })}</p>
      <PoolView segments={value.segments} />
      <details>
        <summary>{t("memory-moment.table")}</summary>
        <p class="table-bar"><span class="soft">{t("table.rows", { count: value.segment_count })}</span> <a class="download" href={csv} download="memory_segments.csv">CSV</a></p>
        <RowsTable
          title={t("memory-moment.pool")}
          rows={value.segments.slice(0, ROWS)}
          columns={[
            { title: columnText("address"), left: true, text: (row) => `0x${BigInt(row.address).toString(16)}` },
            { title: columnText("stream"), left: true, text: (row) => row.stream },
            { title: columnText("size_bytes"), text: (row) => quantityText(row.size_bytes, "bytes") },
            { title: columnText("free_bytes"), text: (row) => quantityText(row.free_bytes, "bytes") },
            { title: columnText("largest_free_bytes"), text: (row) => quantityText(row.largest_free_bytes, "bytes") },
            { title: columnText("block_count"), text: (row) => row.block_count },
          ]}
        />
      </details>
    </>
  );
}
