/** State of the timeline: what was loaded, what is looked at, what is chosen. Changed by the modules named after what they do. */

import { computed, signal } from "@preact/signals";
import type { Names } from "../api/names";
import type { KernelChange, Mark, Place, Profile, Ref, Selection, SliceDetail, Step, Track, Tracks } from "../api/timeline";
import { named } from "../shell/words";
import type { Item } from "./hit";
import { placesOf, runShift } from "./places";
import type { Span } from "./scale";
import { type LaneRow, foldedAtFirst, laneId, treeOf } from "./tree";
import { Undo } from "./undo";

export interface RunData {
  run: string;
  name: string;
  tracks: Tracks;
  steps: readonly Step[];
  names: Names;
}

/** A slice that was chosen, in which run. */
export interface Pick {
  run: string;
  ref: Ref;
}

/** A part of the time, of some lanes or of all that are shown. */
export interface Range extends Span {
  lanes: readonly string[] | null;
}

export interface Hover {
  x: number;
  y: number;
  lane: LaneRow;
  item: Item;
}

export type PanelName = "slice" | "range" | "search" | "marks" | "table";

export interface Found {
  run: string;
  ref: Ref;
  profileLabel: string;
  trackLabel: string;
}

export interface Search {
  text: string;
  where: "name" | "arguments";
  matchCase: boolean;
  wholeWord: boolean;
}

/** Name of a slice in the language of the reader, where it is a word of ours. */
export function sliceName(lane: { track: Track } | undefined, name: string): string {
  return lane?.track.side === "overlap" ? named("timeline-kind", name) : name;
}

/** Where a lane belongs. */
export interface LaneOf {
  run: RunData;
  profile: Profile;
  track: Track;
}

export class Model {
  readonly runs = signal<readonly RunData[]>([]);
  readonly failure = signal<unknown>(null);

  readonly span = signal<Span>({ from: 0, to: 1 });
  readonly width = signal(0);
  readonly height = signal(0);
  readonly scrollTop = signal(0);
  readonly undo = new Undo();
  readonly dragMoves = signal(false);

  /** Null until something was folded by hand. */
  readonly folded = signal<ReadonlySet<string> | null>(null);
  readonly pinned = signal<readonly string[]>([]);
  readonly hidden = signal<ReadonlySet<string>>(new Set());
  readonly deep = signal<ReadonlySet<string>>(new Set());
  readonly filter = signal("");

  /** How ranks are placed: empty as the server did at first, `clock`, `steps`, `none`, or `collective:P:KEY`. */
  readonly align = signal("");
  readonly aligned = signal<ReadonlyMap<string, readonly Place[]>>(new Map());
  readonly offsets = signal<Readonly<Record<string, number>>>({});
  /** What other slices are aligned to. */
  readonly base = signal<Pick | null>(null);

  readonly lane = signal<string | null>(null);
  readonly pick = signal<Pick | null>(null);
  readonly detail = signal<SliceDetail | null>(null);
  /** Slices from which links were followed, to go back. */
  readonly trail = signal<readonly Pick[]>([]);
  readonly hover = signal<Hover | null>(null);

  readonly range = signal<Range | null>(null);
  readonly selection = signal<{ run: string; found: Selection }[] | null>(null);
  readonly selecting = signal(false);

  readonly marks = signal<readonly Mark[]>([]);
  readonly search = signal<Search>({ text: "", where: "name", matchCase: false, wholeWord: false });
  readonly hits = signal<readonly Found[]>([]);
  readonly hitCount = signal<number | null>(null);
  readonly hitAt = signal(-1);

  readonly panel = signal<PanelName>("slice");
  readonly panelOpen = signal(false);
  /** It was closed by hand, so that choosing a slice does not open it. */
  panelShut = false;
  readonly said = signal("");
  /** Counts answers of the server, so that what shows them is drawn anew. */
  readonly arrived = signal(0);
  /** Counts frames of which the numbers beside the lanes were told anew: a few in a second. */
  readonly counted = signal(0);

  readonly compare = signal(false);
  /** Kernels by name that both runs have, the first being the baseline; null before they came. */
  readonly changes = signal<ReadonlyMap<string, KernelChange> | null>(null);

  readonly foldedNow = computed(() => this.folded.value ?? foldedAtFirst(this.lanesOfRuns.value));

  readonly lanesOfRuns = computed(() =>
    this.runs.value.map((data) => ({ run: data.run, name: `${data.run}: ${data.name}`, profiles: data.tracks.profiles, tracks: data.tracks.tracks })),
  );

  readonly tree = computed(() =>
    treeOf(
      this.lanesOfRuns.value,
      { folded: this.foldedNow.value, pinned: this.pinned.value, hidden: this.hidden.value, deep: this.deep.value, filter: this.filter.value },
      (side) => named("timeline-side", side),
    ),
  );

  readonly lanes = computed(() => {
    const lanes = new Map<string, LaneOf>();
    for (const run of this.runs.value) {
      const profiles = new Map(run.tracks.profiles.map((profile) => [profile.profile_id, profile]));
      for (const track of run.tracks.tracks) {
        const profile = profiles.get(track.profile_id);
        if (profile) lanes.set(laneId(run.run, track), { run, profile, track });
      }
    }
    return lanes;
  });

  /** By how much the second run is moved, and the step at which the two meet. */
  readonly shift = computed(() => {
    const [first, second] = this.runs.value;
    if (!first || !second) return null;
    return runShift(first.steps, this.#own(first), second.steps, this.#own(second));
  });

  /** Common time of the origin of each profile, by `run.profile`. */
  readonly places = computed(() => {
    const places = new Map<string, number>();
    for (const [at, run] of this.runs.value.entries()) {
      const shift = at === 0 ? 0 : (this.shift.value?.by ?? 0);
      for (const [profile, place] of this.#own(run)) {
        const id = `${run.run}.${profile}`;
        places.set(id, place + shift + (this.offsets.value[id] ?? 0));
      }
    }
    return places;
  });

  /** From the first to the last moment of all profiles. */
  readonly whole = computed((): Span => {
    let from = Infinity;
    let to = -Infinity;
    for (const run of this.runs.value) {
      for (const profile of run.tracks.profiles) {
        const place = this.placeOf(run.run, profile.profile_id);
        from = Math.min(from, place);
        to = Math.max(to, place + profile.dur_ns);
      }
    }
    return from < to ? { from, to } : { from: 0, to: 1 };
  });

  placeOf(run: string, profile: number): number {
    return this.places.value.get(`${run}.${profile}`) ?? 0;
  }

  /** Common time of a slice. */
  spanOf(pick: Pick): Span {
    const place = this.placeOf(pick.run, pick.ref.profile_id);
    return { from: place + pick.ref.start, to: place + pick.ref.start + pick.ref.dur };
  }

  laneOf(pick: Pick): string {
    return `${pick.run}.${pick.ref.profile_id}.${pick.ref.track}`;
  }

  /** Name of a slice as it is shown; null while it is on its way. What devices do has names in the language of the reader. */
  nameOf(run: RunData, track: Track, id: number): string | null {
    const name = run.names.of(id);
    return name === null ? null : sliceName({ track }, name);
  }

  dataOf(run: string): RunData | null {
    return this.runs.value.find((one) => one.run === run) ?? null;
  }

  #own(run: RunData): Map<number, number> {
    if (this.align.value === "none") return new Map(run.tracks.profiles.map((profile) => [profile.profile_id, 0]));
    return placesOf(run.tracks.profiles, this.aligned.value.get(run.run) ?? null);
  }
}
