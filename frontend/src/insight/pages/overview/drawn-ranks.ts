/** Which ranks of many are drawn as bars. */

/** More bars than these nobody reads; drawing a thousand takes seconds. */
export const BARS = 64;

/** All rows, or those with the longest steps, in their own order. */
export function drawnRanks<T>(rows: readonly T[], length: (row: T) => number): readonly T[] {
  if (rows.length <= BARS) return rows;
  const places = rows.map((_, at) => at).sort((one, other) => length(rows[other] as T) - length(rows[one] as T) || one - other);
  const kept = new Set(places.slice(0, BARS));
  return rows.filter((_, at) => kept.has(at));
}
