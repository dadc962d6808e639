/** The state of the page in its address, so that a link shows somebody else the same. */

import type { Span } from "./scale";

export interface Chosen {
  run: string;
  profile: number;
  track: number;
  depth: number;
  slice: number;
}

export interface LinkState {
  window: Span | null;
  chosen: Chosen | null;
  range: Span | null;
  /** Only lanes of this profile belong to the range. */
  rangeProfile: number | null;
  pinned: string[];
  hidden: string[];
  /** Null where nothing was folded by hand. */
  folded: string[] | null;
  filter: string;
  align: string;
  /** Nanoseconds by which profiles were moved by hand. */
  offsets: Record<string, number>;
  compare: boolean;
  /** A row of a table that is to be shown. */
  find: { table: string; profile: number; key: string } | null;
  frame: boolean;
  text: string;
  /** Only these are unfolded. */
  openProfiles: number[] | null;
}

/** Nothing is folded: an empty parameter would say as little as none. */
const NOTHING = "-";

export type Parameters = Record<string, string>;

export function readLink(parameters: Parameters, run: string): LinkState {
  const text = (name: string): string => parameters[name] ?? "";
  return {
    window: spanOf(text("t")),
    chosen: chosenOf(text("slice"), run),
    range: spanOf(text("range")),
    rangeProfile: wholeNumber(text("profile")),
    pinned: listOf(text("pin")),
    hidden: listOf(text("hide")),
    folded: parameters["fold"] === undefined ? null : text("fold") === NOTHING ? [] : listOf(text("fold")),
    filter: text("lanes"),
    align: text("align"),
    offsets: offsetsOf(text("move")),
    compare: text("compare") === "1",
    find: findOf(text("find")),
    frame: text("frame") === "1",
    text: text("text"),
    openProfiles: parameters["rank_profiles"] === undefined ? null : listOf(text("rank_profiles")).map(Number).filter(Number.isInteger),
  };
}

/** What is not as it is at first; requests such as `find` are answered once and not written again. */
export function writeLink(state: LinkState): Parameters {
  const chosen = state.chosen;
  const parameters: Record<string, string | false> = {
    t: state.window !== null && spanText(state.window),
    slice: chosen !== null && [chosen.run, chosen.profile, chosen.track, chosen.depth, chosen.slice].join(":"),
    range: state.range !== null && spanText(state.range),
    profile: state.range !== null && state.rangeProfile !== null && String(state.rangeProfile),
    pin: state.pinned.map(encodePart).join(","),
    hide: state.hidden.map(encodePart).join(","),
    lanes: state.filter,
    align: state.align,
    move: Object.entries(state.offsets)
      .filter(([, by]) => by !== 0)
      .map(([id, by]) => `${encodePart(id)}:${by}`)
      .join(","),
    compare: state.compare && "1",
    text: state.text,
  };
  const written: Parameters = {};
  for (const [name, value] of Object.entries(parameters)) if (value !== false && value !== "") written[name] = value;
  if (state.folded !== null) written["fold"] = state.folded.map(encodePart).join(",") || NOTHING;
  return written;
}

function spanText(span: Span): string {
  return `${round(span.from)}:${round(span.to)}`;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

function spanOf(text: string): Span | null {
  const [from, to, ...more] = text.split(":").map((part) => (part === "" ? NaN : Number(part)));
  return from !== undefined && to !== undefined && more.length === 0 && Number.isFinite(from) && Number.isFinite(to) && from < to
    ? { from, to }
    : null;
}

/** `P:T:D:S`, with the run in front where there is more than one. */
function chosenOf(text: string, run: string): Chosen | null {
  const parts = text.split(":");
  const named = parts.length === 5 ? (parts.shift() ?? run) : run;
  const [profile, track, depth, slice] = parts.map(wholeNumber);
  if (parts.length !== 4 || profile == null || track == null || depth == null || slice == null) return null;
  return { run: named, profile, track, depth, slice };
}

function findOf(text: string): LinkState["find"] {
  const [table, profile, ...key] = text.split(":");
  const number = wholeNumber(profile ?? "");
  return table && number !== null && key.length > 0 && key.join(":") !== "" ? { table, profile: number, key: key.join(":") } : null;
}

function offsetsOf(text: string): Record<string, number> {
  const offsets: Record<string, number> = {};
  for (const part of listOf(text)) {
    const at = part.lastIndexOf(":");
    const by = Number(part.slice(at + 1));
    if (at > 0 && Math.abs(by) <= Number.MAX_SAFE_INTEGER) offsets[part.slice(0, at)] = by;
  }
  return offsets;
}

function wholeNumber(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function listOf(text: string): string[] {
  return text === "" ? [] : text.split(",").map(decodePart);
}

/** Names of processes may hold commas. */
function encodePart(text: string): string {
  return text.replaceAll("%", "%25").replaceAll(",", "%2C");
}

function decodePart(text: string): string {
  return text.replaceAll("%2C", ",").replaceAll("%25", "%");
}
