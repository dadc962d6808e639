/** The tree of lanes: runs, ranks, and within a rank what its lanes are about; pinned lanes apart. */

import type { Profile, Side, Track } from "../api/timeline";

export const ROW = 18;
export const HEADING = 24;
export const COUNTER = 42;
/** Depths of a lane that are shown before it is unfolded to its whole height. */
export const SHALLOW = 5;
const GAP = 5;

export interface RunLanes {
  run: string;
  name: string;
  profiles: readonly Profile[];
  tracks: readonly Track[];
}

export interface Choice {
  folded: ReadonlySet<string>;
  pinned: readonly string[];
  hidden: ReadonlySet<string>;
  /** Lanes that show all of their depths. */
  deep: ReadonlySet<string>;
  filter: string;
}

interface Placed {
  id: string;
  level: number;
  label: string;
  top: number;
  height: number;
  run: string;
  profile: Profile | null;
}

export interface HeadingRow extends Placed {
  type: "heading";
  open: boolean;
  side: Side | null;
  /** What is drawn beside the heading of a folded part. */
  summary: Track | null;
  /** Lanes below it, folded or not. */
  tracks: readonly Track[];
  sliceCount: number;
}

export interface LaneRow extends Placed {
  type: "lane";
  track: Track;
  profile: Profile;
  /** Depths that are drawn. */
  depths: number;
  rowHeight: number;
}

export type Row = HeadingRow | LaneRow;

export interface Tree {
  pinned: LaneRow[];
  pinnedHeight: number;
  rows: Row[];
  height: number;
  /** Lanes that the filter leaves out, and those that were hidden by hand. */
  filteredCount: number;
  hiddenCount: number;
}

export const SIDES: readonly Side[] = ["overlap", "marks", "requests", "host", "device", "communication", "counter"];

export function laneId(run: string, track: Track): string {
  return `${run}.${track.profile_id}.${track.track}`;
}

export function profileId(run: string, profile: number): string {
  return `${run}.${profile}`;
}

export function sectionId(run: string, profile: number, side: Side, parent: string): string {
  return parent === "" ? `${run}.${profile}.${side}` : `${run}.${profile}.${side}.${parent}`;
}

export function treeOf(runs: readonly RunLanes[], choice: Choice, sideWords: (side: Side) => string): Tree {
  const builder = new Builder(runs.length > 1, choice, sideWords);
  for (const lanes of runs) builder.run(lanes);
  return builder.tree();
}

/** Lays row below row. */
class Builder {
  readonly #rows: Row[] = [];
  readonly #pinned = new Map<string, LaneRow>();
  readonly #wanted: string;
  readonly #isPinned: ReadonlySet<string>;
  #top = 0;
  #filteredCount = 0;
  #hiddenCount = 0;

  constructor(
    readonly several: boolean,
    readonly choice: Choice,
    readonly sideWords: (side: Side) => string,
  ) {
    this.#wanted = choice.filter.trim().toLowerCase();
    this.#isPinned = new Set(choice.pinned);
  }

  run(lanes: RunLanes): void {
    const { run, name, tracks } = lanes;
    const open = !this.several || !this.choice.folded.has(run);
    if (this.several) this.#heading({ id: run, level: 0, label: name, run, profile: null, open, side: null }, tracks, null);
    const byProfile = grouped(tracks, (track) => track.profile_id);
    for (const profile of lanes.profiles) {
      const own = byProfile.get(profile.profile_id) ?? [];
      const visible = own.filter((track) => this.#isVisible(run, profile, track));
      if (open && visible.length > 0) this.#profile(run, profile, visible);
    }
  }

  tree(): Tree {
    let pinnedHeight = 0;
    const pinned = this.choice.pinned.flatMap((id) => this.#pinned.get(id) ?? []);
    for (const row of pinned) {
      row.top = pinnedHeight;
      pinnedHeight += row.height;
    }
    const counts = { filteredCount: this.#filteredCount, hiddenCount: this.#hiddenCount };
    return { pinned, pinnedHeight, rows: this.#rows, height: this.#top, ...counts };
  }

  #isVisible(run: string, profile: Profile, track: Track): boolean {
    const id = laneId(run, track);
    if (this.#isPinned.has(id)) {
      this.#pinned.set(id, laneRow(run, profile, track, { top: 0, level: 0, label: `${profile.label} \u00b7 ${track.label}` }, this.choice));
    }
    const hidden = this.choice.hidden.has(id);
    const filtered = !hidden && this.#wanted !== "" && !matches(track, profile, this.#wanted);
    if (hidden) this.#hiddenCount++;
    if (filtered) this.#filteredCount++;
    return !hidden && !filtered;
  }

  #profile(run: string, profile: Profile, tracks: readonly Track[]): void {
    const level = this.several ? 1 : 0;
    const id = profileId(run, profile.profile_id);
    const open = this.#isOpen(id);
    this.#heading({ id, level, label: profile.label, run, profile, open, side: null }, tracks, summaryOf(tracks));
    if (!open) return;
    for (const section of sectionsOf(tracks)) {
      const key = sectionId(run, profile.profile_id, section.side, section.parent);
      const label = section.parent === "" ? this.sideWords(section.side) : section.parent;
      const shown = this.#isOpen(key);
      this.#heading({ id: key, level: level + 1, label, run, profile, open: shown, side: section.side }, section.tracks, summaryOf(section.tracks));
      for (const track of shown ? section.tracks : []) {
        if (this.#isPinned.has(laneId(run, track))) continue;
        const row = laneRow(run, profile, track, { top: this.#top, level: level + 2, label: track.label }, this.choice);
        this.#rows.push(row);
        this.#top += row.height;
      }
    }
  }

  /** While lanes are looked for by a text, all headings above what is found are open. */
  #isOpen(id: string): boolean {
    return this.#wanted !== "" || !this.choice.folded.has(id);
  }

  #heading(
    heading: Pick<HeadingRow, "id" | "level" | "label" | "run" | "profile" | "open" | "side">, tracks: readonly Track[], summary: Track | null,
  ): void {
    this.#rows.push({
      type: "heading", top: this.#top, height: HEADING, ...heading, summary, tracks, sliceCount: sum(tracks),
    });
    this.#top += HEADING;
  }
}

/** The rows between two heights; rows lie one below the other. */
export function rowsBetween<T extends { top: number; height: number }>(rows: readonly T[], top: number, bottom: number): T[] {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && row.top + row.height <= top) low = middle + 1;
    else high = middle;
  }
  const shown: T[] = [];
  for (let at = low; at < rows.length; at++) {
    const row = rows[at];
    if (row === undefined || row.top >= bottom) break;
    shown.push(row);
  }
  return shown;
}

/** Headings above a lane, outermost first: what has to be open for it to be seen. */
export function headingsOf(run: string, track: Track): string[] {
  return [run, profileId(run, track.profile_id), sectionId(run, track.profile_id, track.side, track.parent)];
}

/** What is folded at first: of many ranks all but the first two, and lanes that few people read. */
export function foldedAtFirst(runs: readonly RunLanes[]): Set<string> {
  const folded = new Set<string>();
  for (const { run, profiles, tracks } of runs) {
    if (profiles.length > 4) for (const profile of profiles.slice(2)) folded.add(profileId(run, profile.profile_id));
    for (const track of tracks) if (track.side === "counter") folded.add(sectionId(run, track.profile_id, track.side, track.parent));
  }
  return folded;
}

function laneRow(
  run: string, profile: Profile, track: Track, place: Pick<LaneRow, "top" | "level" | "label">, choice: Choice,
): LaneRow {
  const id = laneId(run, track);
  const isCounter = track.side === "counter";
  const depths = isCounter ? 1 : Math.max(1, choice.deep.has(id) ? track.depths : Math.min(track.depths, SHALLOW));
  const rowHeight = isCounter ? COUNTER : ROW;
  return { type: "lane", id, ...place, height: depths * rowHeight + GAP, run, profile, track, depths, rowHeight };
}

/** Lanes by what they are about and the process they belong to; of one side in the order of the server. */
function sectionsOf(tracks: readonly Track[]): { side: Side; parent: string; tracks: Track[] }[] {
  const bySide = grouped(tracks, (track) => track.side);
  return SIDES.flatMap((side) =>
    [...grouped(bySide.get(side) ?? [], (track) => track.parent)].map(([parent, own]) => ({ side, parent, tracks: own })),
  );
}

function grouped<T, K>(all: readonly T[], key: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group) group.push(one);
    else groups.set(key(one), [one]);
  }
  return groups;
}

function summaryOf(tracks: readonly Track[]): Track | null {
  const overlap = tracks.find((track) => track.side === "overlap");
  if (overlap) return overlap;
  const slices = tracks.filter((track) => track.side !== "counter");
  return slices.reduce<Track | null>((best, track) => (best === null || track.slice_count > best.slice_count ? track : best), null);
}

function matches(track: Track, profile: Profile, wanted: string): boolean {
  return `${profile.label} ${track.parent} ${track.label} ${track.side}`.toLowerCase().includes(wanted);
}

function sum(tracks: readonly Track[]): number {
  return tracks.reduce((all, track) => all + track.slice_count, 0);
}
