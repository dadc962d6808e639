/** Where the names of marks stand, so that none covers another or the flag of another. */

export interface Flag {
  readonly x: number;
  readonly name: string;
}

export interface Label {
  readonly x: number;
  readonly text: string;
  readonly width: number;
}

/** From the line of a mark to its name: the flag is between. */
const BESIDE = 12;
const AIR = 4;
const LONGEST = 28;
/** A shorter piece of a name says nothing. */
const SHORTEST = 3;

/**
 * Labels of the flags that have room for one; a name is cut where the next flag comes early.
 *
 * @param flags in any order; those left of the window have their name at its edge
 * @param width of the window, in pixels
 * @param measure width of a text, in pixels
 */
export function labelsOf(flags: readonly Flag[], width: number, measure: (text: string) => number): Label[] {
  const sorted = [...flags].sort((one, other) => one.x - other.x);
  const labels: Label[] = [];
  sorted.forEach((flag, at) => {
    const next = sorted[at + 1];
    const isLast = next === undefined || next.x > width;
    const end = (isLast ? width : next.x) - AIR;
    const beside = Math.max(flag.x + BESIDE, 2);
    const name = flag.name.length > LONGEST ? `${flag.name.slice(0, LONGEST - 1)}\u2026` : flag.name;
    // At the right edge a name stands over its own flag, as far as the mark before leaves room.
    const before = labels.at(-1);
    const free = Math.max(2, (sorted[at - 1]?.x ?? -BESIDE) + BESIDE, before ? before.x + before.width + AIR : 2);
    const x = isLast ? Math.max(free, Math.min(beside, end - measure(name))) : beside;
    const text = cut(name, end - x, measure);
    if (text !== null) labels.push({ x, text, width: measure(text) });
  });
  return labels;
}

function cut(name: string, room: number, measure: (text: string) => number): string | null {
  if (measure(name) <= room) return name;
  for (let length = name.length - 1; length >= SHORTEST; length--) {
    const text = `${name.slice(0, length).trimEnd()}\u2026`;
    if (measure(text) <= room) return text;
  }
  return null;
}
