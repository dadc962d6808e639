/** Chooses slices and lanes: by pointer, from slice to slice, along links. */

import { getJson, runPath, wasAborted } from "../api/client";
import type { Link, Ref, SliceDetail } from "../api/timeline";
import { quantityText } from "../../text/quantities";
import { t } from "../shell/words";
import { type Item, itemsIn, nearestItem } from "./hit";
import type { Loader } from "./loader";
import { type LaneOf, type Model, type Pick, sliceName } from "./model";
import type { Mover } from "./moving";
import { lengthOf } from "./scale";
import { type LaneRow, SHALLOW, headingsOf } from "./tree";

export class Chooser {
  readonly #model: Model;
  readonly #mover: Mover;
  readonly #loader: Loader;
  #asking: AbortController | null = null;
  #linkAt = -1;

  constructor(model: Model, mover: Mover, loader: Loader) {
    this.#model = model;
    this.#mover = mover;
    this.#loader = loader;
  }

  clear(): void {
    this.#asking?.abort();
    this.#model.pick.value = null;
    this.#model.detail.value = null;
    this.#model.said.value = "";
  }

  /** What the pointer is on: a slice, or the longest of those that are drawn as one. */
  item(lane: LaneRow, item: Item): void {
    const name = this.#model.dataOf(lane.run)?.names.of(item.name) ?? "";
    const ref = { profile_id: lane.profile.profile_id, track: lane.track.track, depth: item.depth, slice: item.slice, start: item.start, dur: item.end - item.start, name };
    this.choose({ run: lane.run, ref });
  }

  choose(pick: Pick, reveal = false): void {
    const model = this.#model;
    model.pick.value = pick;
    model.lane.value = model.laneOf(pick);
    model.detail.value = null;
    this.#linkAt = -1;
    if (model.panel.peek() !== "table" || !model.panelOpen.peek()) model.panel.value = "slice";
    if (!model.panelShut && !model.panelOpen.peek()) {
      model.panelOpen.value = true;
      setTimeout(() => this.#keepInView(pick)); // the panel takes its room from the lanes
    }
    this.#say(pick);
    if (reveal) this.reveal(pick);
    this.#asking?.abort();
    const asking = new AbortController();
    this.#asking = asking;
    const { profile_id: profile, track, depth, slice } = pick.ref;
    getJson<SliceDetail>(runPath(pick.run, "slice"), { profile, track, depth, slice }, asking.signal).then(
      (detail) => {
        if (this.#asking !== asking) return;
        const { name, start, dur } = detail;
        const whole: Pick = { run: pick.run, ref: { ...pick.ref, name, start, dur } };
        model.pick.value = whole;
        model.detail.value = detail;
        this.#say(whole);
      },
      (error: unknown) => {
        if (!wasAborted(error)) model.failure.value = error;
      },
    );
  }

  /** Opens what is folded above the slice, scrolls to its lane and moves the window to it. */
  reveal(pick: Pick): void {
    const model = this.#model;
    const id = model.laneOf(pick);
    const lane = model.lanes.peek().get(id);
    if (!lane) return;
    this.revealLane(id, lane, pick.ref.depth);
    const { from, to } = model.spanOf(pick);
    this.#mover.show(from, to);
  }

  revealLane(id: string, lane: LaneOf, depth = 0): void {
    const model = this.#model;
    const above = headingsOf(lane.run.run, lane.track);
    const folded = model.foldedNow.peek();
    if (above.some((one) => folded.has(one))) model.folded.value = new Set([...folded].filter((one) => !above.includes(one)));
    if (model.hidden.peek().has(id)) model.hidden.value = new Set([...model.hidden.peek()].filter((one) => one !== id));
    if (depth >= SHALLOW && !model.deep.peek().has(id)) model.deep.value = new Set([...model.deep.peek(), id]);
    const find = (): LaneRow | undefined =>
      model.tree.value.rows.find((row): row is LaneRow => row.type === "lane" && row.id === id);
    if (!find() && !model.pinned.peek().includes(id)) model.filter.value = "";
    const row = find();
    if (!row) return; // pinned: it is always on the screen
    const top = model.scrollTop.peek();
    const room = model.height.peek() - model.tree.peek().pinnedHeight;
    const y = row.top + depth * row.rowHeight;
    if (y < top + 30 || y + row.rowHeight > top + room - 8) {
      model.scrollTop.value = Math.max(0, Math.min(y - room / 3, model.tree.peek().height - room));
    }
  }

  /** The slice before or after the chosen one in its row. */
  neighbour(which: "previous" | "next"): void {
    const model = this.#model;
    const pick = model.pick.peek();
    const ref = model.detail.peek()?.[which];
    if (pick && ref) this.choose({ run: pick.run, ref }, true);
    else if (!pick) this.lane(0);
  }

  /** The slice above (its caller) or below in the same lane. */
  depth(by: number): void {
    const model = this.#model;
    const pick = model.pick.peek();
    const lane = pick ? this.#rowOf(model.laneOf(pick)) : undefined;
    if (!pick || !lane) return;
    const depth = pick.ref.depth + by;
    const item = nearestItem(this.#items(lane), pick.ref.start + pick.ref.dur / 2, depth);
    if (item) this.item(lane, item);
  }

  /** The lane above or below; the slice in it that is nearest to the chosen one, or to the middle of the window. */
  lane(by: number): void {
    const model = this.#model;
    const tree = model.tree.peek();
    const rows = [...tree.pinned, ...tree.rows.filter((row): row is LaneRow => row.type === "lane")];
    if (rows.length === 0) return;
    const at = rows.findIndex((row) => row.id === model.lane.peek());
    const row = rows[Math.min(Math.max(0, at < 0 ? 0 : at + by), rows.length - 1)];
    if (!row) return;
    const pick = model.pick.peek();
    const span = model.span.peek();
    const time = pick ? model.spanOf(pick).from : (span.from + span.to) / 2;
    const inside = Math.min(Math.max(time, span.from), span.to);
    const lane = model.lanes.peek().get(row.id);
    if (lane) this.revealLane(row.id, lane);
    model.lane.value = row.id;
    if (row.track.side === "counter") {
      model.said.value = `${row.profile.label} \u00b7 ${row.track.label}`;
      return;
    }
    const item = nearestItem(this.#items(row), inside - model.placeOf(row.run, row.profile.profile_id));
    if (item) this.item(row, item);
    else model.said.value = t("timeline.said.empty", { lane: `${row.profile.label} \u00b7 ${row.track.label}` });
  }

  /** Along the links of the chosen slice, one after the other. */
  follow(link?: Link): void {
    const model = this.#model;
    const pick = model.pick.peek();
    const links = model.detail.peek()?.links ?? [];
    const next = link ?? links[++this.#linkAt % Math.max(1, links.length)];
    if (!pick || !next) return;
    model.trail.value = [...model.trail.peek().slice(-50), pick];
    const other: Pick = { run: pick.run, ref: next.ref };
    this.choose(other);
    this.#keepInView(other);
    this.#mover.showBoth(model.spanOf(pick), model.spanOf(other));
  }

  /** Back to where a link was followed; from there the next link is the next one. */
  followBack(): void {
    const model = this.#model;
    const trail = model.trail.peek();
    const pick = trail.at(-1);
    if (!pick) return;
    const turn = this.#linkAt;
    model.trail.value = trail.slice(0, -1);
    this.choose(pick, true);
    this.#linkAt = turn;
  }

  /** A slice of which only the place is known, as an address names it. */
  async open(pick: Pick, frame: boolean, move: boolean): Promise<void> {
    const { profile_id: profile, track, depth, slice } = pick.ref;
    const detail = await getJson<SliceDetail>(runPath(pick.run, "slice"), { profile, track, depth, slice });
    this.choose({ run: pick.run, ref: { ...pick.ref, name: detail.name, start: detail.start, dur: detail.dur } }, move || frame);
    if (frame) this.frame();
  }

  async find(run: string, table: string, profile: number, key: string, frame: boolean): Promise<void> {
    const ref = await getJson<Ref>(runPath(run, "find"), { table, profile, key });
    this.choose({ run, ref }, true);
    if (frame) this.frame();
  }

  /** Makes the window as long as the chosen slice or range. */
  frame(): void {
    const model = this.#model;
    const pick = model.pick.peek();
    const span = pick ? model.spanOf(pick) : model.range.peek();
    if (span) this.#mover.fit(span.from, span.to);
  }

  #keepInView(pick: Pick): void {
    const id = this.#model.laneOf(pick);
    const lane = this.#model.lanes.peek().get(id);
    if (lane) this.revealLane(id, lane, pick.ref.depth);
  }

  #rowOf(id: string): LaneRow | undefined {
    const tree = this.#model.tree.peek();
    return [...tree.pinned, ...tree.rows].find((row): row is LaneRow => row.type === "lane" && row.id === id);
  }

  #items(lane: LaneRow): Item[] {
    const model = this.#model;
    const place = model.placeOf(lane.run, lane.profile.profile_id);
    const span = model.span.peek();
    const window = { from: span.from - place, to: span.to - place };
    return itemsIn(this.#loader.pieces(lane.id), window, lengthOf(window) / Math.max(1, model.width.peek()));
  }

  #say(pick: Pick): void {
    const lane = this.#model.lanes.peek().get(this.#model.laneOf(pick));
    if (lane) this.#model.said.value = [lane.profile.label, lane.track.label, sliceName(lane, pick.ref.name), quantityText(pick.ref.dur, "ns")].filter(Boolean).join(" \u00b7 ");
  }
}
