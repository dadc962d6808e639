/** The tree of lanes left of the canvas: only rows on the screen are elements. */

import { t } from "../shell/words";
import { axisOf, exactText } from "./axis";
import { AXIS, MINI, TOP } from "./bands";
import { Icon, Tool } from "./icons";
import type { Controls } from "./controls";
import { type HeadingRow, type LaneRow, type Row, SHALLOW, rowsBetween } from "./tree";

const STICKY = 22;

export function LaneNames({ controls, width }: { controls: Controls; width: number }) {
  const { model } = controls;
  const tree = model.tree.value;
  const top = model.scrollTop.value;
  const room = Math.max(0, model.height.value - tree.pinnedHeight);
  const shown = rowsBetween(tree.rows, top, top + room);
  const above = stickyAbove(tree.rows, top);
  return (
    <div class="tl-names" style={{ width: `${width}px` }}>
      <div class="tl-corner" style={{ height: `${TOP}px` }}>
        <span class="tl-whole" style={{ height: `${MINI}px` }}>{t("timeline.whole")}</span>
        <Base controls={controls} />
      </div>
      <div class="tl-pinned" style={{ height: `${tree.pinnedHeight}px` }}>
        {tree.pinned.map((row) => <Lane key={row.id} row={row} controls={controls} />)}
      </div>
      <div class="tl-rows" style={{ height: `${room}px` }}>
        <div class="tl-moved" style={{ transform: `translateY(${-top}px)`, height: `${tree.height}px` }}>
          {shown.map((row) => (row.type === "lane" ? <Lane key={row.id} row={row} controls={controls} below={top + (above ? STICKY : 0)} /> : <Heading key={row.id} row={row} controls={controls} />))}
        </div>
        {above && (
          <div class="tl-sticky" aria-hidden="true">
            {above.label}
          </div>
        )}
      </div>
    </div>
  );
}

/** What the labels of the axis count from; apart, because it follows the window. */
function Base({ controls }: { controls: Controls }) {
  const base = axisOf(controls.model.span.value, Math.max(1, controls.model.width.value)).base;
  return <span class="tl-base" style={{ height: `${AXIS}px` }} title={t("timeline.base")}>{base === 0 ? "" : `${exactText(base)} +`}</span>;
}

function Heading({ row, controls }: { row: HeadingRow; controls: Controls }) {
  const count = row.tracks.length;
  return (
    <div class={`tl-heading level-${row.level} ${row.side === null ? "whose" : ""}`} style={{ top: `${row.top}px`, height: `${row.height}px` }}>
      <button type="button" aria-expanded={row.open} data-heading={row.id} onClick={() => controls.fold(row.id)} title={row.label}>
        <Icon name={row.open ? "open" : "closed"} />
        <span class="tl-label">
          {row.label}
          {row.side === null && row.profile?.host && <span class="tl-host">{row.profile.host}</span>}
        </span>
      </button>
      {!row.open && <span class="tl-count">{t("timeline.lanes", { count })}</span>}
    </div>
  );
}

/** `below` is the height down to which the lane is scrolled away: its name stays in view. */
function Lane({ row, controls, below = 0 }: { row: LaneRow; controls: Controls; below?: number }) {
  const { model, stage } = controls;
  void model.counted.value;
  const counts = stage()?.counts.get(row.id);
  const total = row.track.slice_count;
  const isPinned = model.pinned.value.includes(row.id);
  const isCurrent = model.lane.value === row.id;
  const shown = counts ? Math.min(counts.slices, total) : 0;
  const away = Math.min(Math.max(0, below - row.top), row.height - 24);
  const shift = away > 0 ? { transform: `translateY(${away}px)` } : {};
  const said = counts
    ? t("timeline.shown", { shown, total, drawn: counts.rects })
    : t("timeline.total", { count: total });
  return (
    <div
      class={`tl-lane level-${row.level}${isCurrent ? " current" : ""}`}
      style={{ top: `${row.top}px`, height: `${row.height}px` }}
      data-lane={row.id}
      onClick={() => controls.current(row.id)}
    >
      <span class="tl-label" title={row.label} style={shift}>{row.label}</span>
      <span class="tl-count" title={said} style={shift}>{counts ? `${short(shown)} / ${short(total)}` : short(total)}</span>
      {row.track.depths > SHALLOW && row.track.side !== "counter" && (
        <button type="button" class="tl-more-depths" tabIndex={-1} onClick={() => controls.deep(row.id)}>
          {model.deep.value.has(row.id) ? t("timeline.lane.shallow") : t("timeline.lane.deep", { count: row.track.depths - SHALLOW })}
        </button>
      )}
      <span class="tl-lane-tools">
        <Tool icon="pin" says={isPinned ? t("timeline.lane.unpin") : t("timeline.lane.pin")} pressed={isPinned} act={() => controls.pin(row.id)} aside />
        <Tool icon="hide" says={t("timeline.lane.hide")} act={() => controls.hide(row.id)} aside />
      </span>
    </div>
  );
}

/** The rank whose lanes are on the screen while its heading is scrolled away. */
function stickyAbove(rows: readonly Row[], top: number): HeadingRow | null {
  let found: HeadingRow | null = null;
  for (const row of rows) {
    if (row.top >= top) break;
    if (row.type === "heading" && row.profile !== null && row.side === null) found = row;
  }
  return found;
}

/** Counts beside lanes have little room. */
export function short(count: number): string {
  if (count < 10_000) return count.toLocaleString("en-US");
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e5 ? 1 : 0)} k`;
  return `${(count / 1e6).toFixed(count < 1e7 ? 2 : 1)} M`;
}
