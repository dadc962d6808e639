/** Values of tables as text, and names of columns. */

import { quantityText } from "../../text/quantities";
import type { Unit, Value } from "../api/types";
import { exampleText, reasonText, turnOnText } from "../shell/reasons";
import { isWord, named, t, textOf } from "../shell/words";

const MANY: readonly (readonly [number, string])[] = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

export function cellText(value: Value | undefined, unit: Unit): string {
  if (value === null || value === undefined || value === "") return "-";
  if (typeof value === "boolean") return value ? t("cell.yes") : t("cell.no");
  if (typeof value === "string") return value;
  switch (unit) {
    case "ns":
    case "at_ns":
      return quantityText(value, "ns");
    case "bytes":
    case "bytes_per_s":
    case "ratio":
      return quantityText(value, unit);
    case "count":
      return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
    case "flops":
      return scaled(value, "FLOP");
    case "flops_per_s":
      return scaled(value, "FLOP/s");
    default:
      if (Number.isInteger(value)) return String(value);
      return Math.abs(value) >= 999.5 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
  }
}

/** A name of a table, which may be broken between its words only. */
export function breakable(name: string): string {
  return name.replace(/[_.]/g, (mark) => `${mark}\u200b`);
}

/** Signed, as a difference. */
export function differenceText(value: Value | undefined, unit: Unit): string {
  const text = cellText(value, unit);
  return typeof value === "number" && value > 0 ? `+${text}` : text;
}

/** The heading of a column; some tables call one by a name of their own. */
export function columnText(name: string, table = ""): string {
  const own = `col.${table}.${name}`;
  if (isWord(own)) return t(own);
  for (const [prefix, key] of [["other_", "cell.other"], ["more_", "cell.more"]] as const) {
    if (name.startsWith(prefix)) return t(key, { column: columnText(name.slice(prefix.length)) });
  }
  const text = named("col", name);
  if (text !== name.replaceAll("_", " ")) return text;
  const stem = name.replace(/_(ns|bytes|ratio|count)$/, "");
  return named("free-cause", stem); // findings name figures of free time after its causes
}

/** Columns of sentences, which are broken into lines instead of being cut. */
export const SENTENCES: ReadonlySet<string> = new Set(["verdict", "reason", "turn_on", "example"]);

/** What a missing value stands for, where that is more than "not known". */
export function absentText(table: string, column: string, row: Readonly<Record<string, Value>>): string | null {
  if (table === "modules" && column === "path") return t("cell.whole-phase");
  if (table === "mfu" && column === "rank" && row["profile_id"] === null) return t("rank.all");
  return null;
}

/** Whether the example of an entry of the damage ledger only says what its kind says. */
export function repeatsKind(row: Readonly<Record<string, Value>>): boolean {
  const key = `damage.${row["kind"]}`;
  return isWord(key) && textOf(key, "en") === row["example"];
}

/** Columns of names that may be C++ functions. */
export const FUNCTIONS: ReadonlySet<string> = new Set(["op_type", "name"]);

/** A C++ function without its return type and name spaces: what is left tells kernels apart. Other names stay. */
export function functionText(name: string): string {
  if (!/^void |<.*>/.test(name) || name.startsWith("<")) return name;
  return name.replace(/^void /, "").replaceAll(/\(anonymous namespace\)::/g, "").replaceAll(/\b(?:[A-Za-z_]\w*::)+(?=[A-Za-z_{])/g, "");
}

/** Columns of paths, with what stands between their parts. */
export const PATHS: ReadonlyMap<string, string> = new Map([["path", "."], ["file", "/"], ["source", "/"]]);

/** The end of a path, cut between its parts: that is what tells modules and files apart. */
export function pathEnd(path: string, room: number, between = "."): string {
  if (path.length <= room) return path;
  const from = path.indexOf(between, path.length - room);
  return `\u2026${from < 0 ? path.slice(-room) : path.slice(from + 1)}`;
}

/** Words of the data that have a name of their own: kinds, causes, states. */
export function wordText(column: string, value: Value | undefined): string | null {
  if (typeof value !== "string" || value === "") return null;
  // Where the source tells no address, blocks are told apart by the rows that they come from.
  if (column === "address" && value.startsWith("row:")) return "-";
  // Where a text names an example, that stands in a column of its own.
  const damage = `damage.${value}`;
  if (column === "kind" && isWord(damage)) return t(damage, { example: "" });
  if (column === "reason") return reasonText(value);
  if (column === "turn_on") return turnOnText(value);
  if (column === "example") return exampleText(value);
  const families = FAMILIES[column];
  if (families === undefined) return null;
  return families.map((family) => named(family, value)).find((text) => text !== value.replaceAll("_", " ")) ?? value;
}

const FAMILIES: Record<string, readonly string[]> = {
  kind: ["kind-of"],
  phase: ["phase"],
  direction: ["copy"],
  host_memory: ["copy"],
  cause: ["free-cause", "cause"],
  pattern: ["pattern"],
  verdict: ["leak"],
  state: ["absent", "state"],
  rank_scope: ["rank-scope"],
  source: ["memory-source"],
  family: ["operator-family"],
  bound: ["word"],
  scope: ["word"],
  origin: ["word"],
  method: ["word"],
  severity: ["word"],
  bandwidth_reason: ["word"],
  check: ["check-name"],
  stage: ["request-stage"],
  part: ["memory-part"],
};

export function isNumeric(unit: Unit): boolean {
  return unit !== "text" && unit !== "flag" && unit !== "id";
}

function scaled(value: number, unit: string): string {
  for (const [factor, letter] of MANY) if (Math.abs(value) >= factor) return `${(value / factor).toPrecision(3)} ${letter}${unit}`;
  return `${value.toPrecision(3)} ${unit}`;
}
