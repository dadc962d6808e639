/** The unit of a figure by its name, as the server names figures. */

import type { Unit } from "../api/types";

const UNITS: readonly (readonly [string, Unit])[] = [
  ["_bytes_per_s", "bytes_per_s"],
  ["flops_per_s", "flops_per_s"],
  ["_ns", "ns"],
  ["_bytes", "bytes"],
  ["_ratio", "ratio"],
  ["_count", "count"],
];

export function unitOf(name: string): Unit {
  return UNITS.find(([ending]) => name.endsWith(ending))?.[1] ?? "number";
}
