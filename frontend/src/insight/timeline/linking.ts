/** Takes the state of the page from its address, and writes it there. */

import { effect } from "@preact/signals";
import { type Given, change, parsed } from "../shell/router";
import type { Controls } from "./controls";
import { type LinkState, readLink, writeLink } from "./link";
import type { Pick } from "./model";
import { all, framed, inside, within } from "./scale";

const PAUSE_MS = 250;
const OWN = ["t", "slice", "range", "profile", "pin", "hide", "fold", "lanes", "align", "move", "compare", "text", "find", "frame", "rank_profiles"];

export class LinkKeeper {
  readonly #controls: Controls;
  #given: Given;
  /** The address as it was last written or read here. */
  #known = location.hash;
  #stop: () => void = () => undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(controls: Controls, given: Given) {
    this.#controls = controls;
    this.#given = given;
  }

  stop(): void {
    this.#stop();
    clearTimeout(this.#timer);
  }

  /** Once lanes are known: shows what the address asks for, then keeps the address true. */
  async start(): Promise<void> {
    const moved = (): void => {
      const { page, given } = parsed(location.hash);
      if (page !== "timeline" || (given["run"] ?? this.#controls.run) !== this.#controls.run) return;
      this.#given = given;
      this.#known = location.hash;
      void this.#applyOrSay();
    };
    addEventListener("hashchange", moved); // not sent for what the page itself writes
    this.#stop = () => removeEventListener("hashchange", moved);
    await this.#applyOrSay();
    const still = effect(() => {
      const state = this.#state();
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#write(state), PAUSE_MS);
    });
    this.#stop = () => {
      removeEventListener("hashchange", moved);
      still();
    };
  }

  /** What an address asks for may be gone: that is said, and the rest of the page works. */
  async #applyOrSay(): Promise<void> {
    this.#controls.model.failure.value = null; // what another address could not show
    try {
      await this.#apply();
    } catch (error) {
      this.#controls.model.failure.value = error;
    }
  }

  async #apply(): Promise<void> {
    const { model, mover, chooser, aligner, ranger, searcher, run: own } = this.#controls;
    const wanted = readLink(this.#given, own);
    clearTimeout(this.#timer);
    model.pinned.value = wanted.pinned;
    model.hidden.value = new Set(wanted.hidden);
    model.filter.value = wanted.filter;
    model.compare.value = wanted.compare;
    model.folded.value = wanted.folded && new Set(wanted.folded);
    if (wanted.openProfiles) this.#openOnly(wanted.openProfiles);
    if (wanted.align !== model.align.peek()) await aligner.by(wanted.align);
    model.offsets.value = wanted.offsets;
    const whole = model.whole.peek();
    mover.set(wanted.window ? within(wanted.window, whole) : all(whole));
    if (wanted.chosen) {
      const { run, profile, track, depth, slice } = wanted.chosen;
      const pick: Pick = { run, ref: { profile_id: profile, track, depth, slice, start: 0, dur: 0, name: "" } };
      if (model.lanes.peek().has(model.laneOf(pick))) await chooser.open(pick, wanted.frame, wanted.window === null);
    }
    if (wanted.find) await chooser.find(own, wanted.find.table, wanted.find.profile, wanted.find.key, wanted.frame || wanted.window === null);
    if (wanted.range) this.#range(wanted, ranger);
    if (wanted.text !== model.search.peek().text) {
      searcher.change({ text: wanted.text });
      if (wanted.text !== "") this.#controls.panel("search");
    }
  }

  #range(wanted: LinkState, ranger: Controls["ranger"]): void {
    const { model } = this.#controls;
    const range = wanted.range && inside(wanted.range, all(model.whole.peek()));
    if (!range) return;
    const own = [...model.lanes.peek()].filter(([, lane]) => wanted.rangeProfile === null || lane.profile.profile_id === wanted.rangeProfile);
    void ranger.select({ ...range, lanes: wanted.rangeProfile === null ? null : own.map(([id]) => id) });
    if (wanted.window === null) model.span.value = framed(range.from, range.to, model.whole.peek());
  }

  #openOnly(profiles: readonly number[]): void {
    const { model } = this.#controls;
    const ids = model.runs.peek().flatMap(({ run, tracks }) => tracks.profiles.map((profile) => [`${run}.${profile.profile_id}`, profile.profile_id] as const));
    const sections = [...model.foldedNow.peek()].filter((id) => id.split(".").length > 2);
    model.folded.value = new Set([...sections, ...ids.filter(([, profile]) => !profiles.includes(profile)).map(([id]) => id)]);
  }

  #state(): LinkState {
    const { model } = this.#controls;
    const span = model.span.value;
    const whole = all(model.whole.value);
    const isWhole = span.from === whole.from && span.to === whole.to;
    const pick = model.pick.value;
    const range = model.range.value;
    return {
      window: isWhole ? null : span,
      chosen: pick && { run: pick.run, profile: pick.ref.profile_id, track: pick.ref.track, depth: pick.ref.depth, slice: pick.ref.slice },
      range: range && { from: range.from, to: range.to },
      rangeProfile: range ? this.#profileOf(range.lanes) : null,
      pinned: [...model.pinned.value],
      hidden: [...model.hidden.value],
      folded: model.folded.value && [...model.folded.value],
      filter: model.filter.value,
      align: model.align.value,
      offsets: model.offsets.value,
      compare: model.compare.value,
      find: null,
      frame: false,
      text: model.search.value.text,
      openProfiles: null,
    };
  }

  /** The only profile whose lanes are in a range, if there is one. */
  #profileOf(lanes: readonly string[] | null): number | null {
    const profiles = new Set((lanes ?? []).map((id) => this.#controls.model.lanes.peek().get(id)?.profile.profile_id));
    const [profile] = profiles;
    return profiles.size === 1 && profile !== undefined ? profile : null;
  }

  #write(state: LinkState): void {
    if (location.hash !== this.#known) return; // somebody else changed it: that is about to be applied
    const written = writeLink(state);
    change(Object.fromEntries(OWN.map((name) => [name, written[name] ?? null])));
    this.#known = location.hash;
  }
}
