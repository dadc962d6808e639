/** The table twin of the canvas: what is drawn of one lane in the window, row by row. */

import { useState } from "preact/hooks";
import { percentText, quantityText } from "../../text/quantities";
import { t } from "../shell/words";
import { exactText } from "./axis";
import type { Controls } from "./controls";
import { csvText, download } from "./csv";
import { type Item, itemsIn } from "./hit";
import { Tool } from "./icons";
import { amountText } from "./paint";
import { type Column, Rows, sorted } from "./rows";
import { lengthOf } from "./scale";

export function TablePanel({ controls }: { controls: Controls }) {
  const { model, loader, chooser } = controls;
  const [sort, setSort] = useState<{ key: string; falling: boolean } | undefined>(undefined);
  void [model.arrived.value, model.counted.value];
  const id = model.lane.value;
  const lane = id === null ? undefined : model.lanes.value.get(id);
  if (!lane || id === null) return <LaneChooser controls={controls} />;
  const place = model.placeOf(lane.run.run, lane.profile.profile_id);
  const span = model.span.peek();
  const window = { from: span.from - place, to: span.to - place };
  const items = itemsIn(loader.pieces(id), window, lengthOf(window) / Math.max(1, model.width.peek()));
  const isCounter = lane.track.side === "counter";
  const nameOf = (item: Item): string => model.nameOf(lane.run, lane.track, item.name) ?? "\u2026";
  const columns: Column<Item>[] = [
    { key: "start", says: t("timeline.slice.start"), right: true, cell: (item) => exactText(place + item.start), by: (item) => item.start },
    ...(isCounter
      ? [{ key: "value", says: t("timeline.column.value"), right: true, cell: (item: Item) => amountText(item.busy, lane.track.unit), by: (item: Item) => item.busy }]
      : [
          { key: "name", says: t("timeline.column.name"), cell: (item: Item) => (item.count > 1 ? `${item.count} \u00d7 ${nameOf(item)}` : nameOf(item)), by: nameOf },
          { key: "depth", says: t("timeline.column.depth"), right: true, cell: (item: Item) => item.depth, by: (item: Item) => item.depth },
          { key: "dur", says: t("timeline.slice.dur"), right: true, cell: (item: Item) => quantityText(item.end - item.start, "ns"), by: (item: Item) => item.end - item.start },
          {
            key: "busy", says: t("timeline.column.busy"), right: true,
            cell: (item: Item) => (item.end > item.start ? percentText(Math.min(1, item.busy / (item.end - item.start))) : "-"),
            by: (item: Item) => (item.end > item.start ? item.busy / (item.end - item.start) : 0),
          },
        ]),
    { key: "count", says: t("timeline.column.count"), right: true, cell: (item) => item.count.toLocaleString("en-US"), by: (item) => item.count },
  ];
  const ordered = sorted(items, columns, sort);
  const pick = model.pick.value;
  const chosen = pick && model.laneOf(pick) === id ? ordered.findIndex((item) => item.slice === pick.ref.slice && item.depth === pick.ref.depth) : -1;
  const row = [...model.tree.value.pinned, ...model.tree.value.rows].find((one) => one.type === "lane" && one.id === id);
  const stands = items.reduce((all, item) => all + item.count, 0);
  const save = (): void =>
    download("lane.csv", "text/csv", csvText(
      ["start_ns", "end_ns", "name", "depth", isCounter ? "highest" : "busy_ns", "count"],
      ordered.map((item) => [item.start, item.end, isCounter ? lane.track.label : nameOf(item), item.depth, item.busy, item.count]),
    ));
  return (
    <div class="tl-twin">
      <div class="tl-slice-head">
        <h2>{lane.profile.label} {"\u00b7"} {lane.track.label}</h2>
        <span class="soft">{t("timeline.shown", { shown: stands, total: lane.track.slice_count, drawn: items.length })}</span>
        <span class="tl-buttons">
          <Tool icon="save" says={t("timeline.csv")} act={save} disabled={items.length === 0} />
        </span>
      </div>
      <Rows
        label={t("timeline-panel.table")} columns={columns} rows={ordered} sort={sort} onSort={setSort} chosen={chosen}
        onChoose={(item) => {
          if (row?.type === "lane" && !isCounter) chooser.item(row, item);
        }}
      />
    </div>
  );
}

function LaneChooser({ controls }: { controls: Controls }) {
  const { model } = controls;
  return (
    <p class="tl-hint">
      {t("timeline.table.none")}{" "}
      <select aria-label={t("timeline.column.lane")} onChange={(event) => controls.current(event.currentTarget.value)}>
        <option value="" />
        {[...model.lanes.value].slice(0, 2000).map(([id, lane]) => (
          <option key={id} value={id}>{lane.profile.label} {"\u00b7"} {lane.track.label}</option>
        ))}
      </select>
    </p>
  );
}
