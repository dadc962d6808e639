/** What the pointer is on, in a few words. */

import { percentText, quantityText } from "../../text/quantities";
import { named, t } from "../shell/words";
import type { Controls } from "./controls";
import { amountText } from "./paint";
import { Swatch } from "./swatch";

const WIDTH = 330;

export function Tip({ controls }: { controls: Controls }) {
  const { model } = controls;
  const hover = model.hover.value;
  if (!hover) return null;
  const { item, lane } = hover;
  const data = model.dataOf(lane.run);
  const kind = data?.tracks.kinds[item.kind] ?? "";
  const name = (data && model.nameOf(data, lane.track, item.name)) ?? "\u2026";
  const dur = item.end - item.start;
  const start = model.placeOf(lane.run, lane.profile.profile_id) + item.start;
  const isCounter = lane.track.side === "counter";
  const rows: [string, string][] = isCounter
    ? [[item.count > 1 ? t("timeline.tip.highest") : t("timeline.column.value"), amountText(item.busy, lane.track.unit)]]
    : [[item.count > 1 ? t("timeline.tip.together") : t("timeline.slice.dur"), quantityText(dur, "ns")]];
  rows.push([t("timeline.slice.start"), quantityText(start, "ns")]);
  if (item.count > 1) rows.push([t("timeline.column.count"), item.count.toLocaleString("en-US")]);
  if (item.count > 1 && !isCounter && dur > 0) rows.push([t("timeline.column.busy"), percentText(Math.min(1, item.busy / dur))]);
  const change = model.compare.value && lane.track.table === "kernel" ? model.changes.value?.get(name) : undefined;
  if (change) {
    rows.push([t("timeline.tip.means"), `${quantityText(change.base_mean_ns, "ns")} \u2192 ${quantityText(change.candidate_mean_ns, "ns")}`]);
    if (change.change_ratio !== null) rows.push([t("timeline.tip.change"), signedPercent(change.change_ratio)]);
  }
  const left = Math.min(hover.x + 16, Math.max(0, model.width.value - WIDTH));
  const below = hover.y + 150 < model.height.value + 50;
  return (
    <div class="tl-tip" aria-hidden="true" style={{ left: `${left}px`, top: below ? `${hover.y + 18}px` : "auto", bottom: below ? "auto" : `${model.height.value + 54 - hover.y + 12}px` }}>
      <b>{isCounter ? lane.track.label : item.count > 1 ? t("timeline.tip.many", { count: item.count, name }) : name}</b>
      {!isCounter && <span class="tl-tip-kind"><Swatch kind={kind} /> {named("timeline-kind", kind)}</span>}
      <dl>
        {rows.map(([what, much]) => (
          <div key={what}><dt>{what}</dt><dd>{much}</dd></div>
        ))}
      </dl>
    </div>
  );
}

function signedPercent(ratio: number): string {
  return ratio < 0 ? `\u2212${percentText(-ratio)}` : `+${percentText(ratio)}`;
}
