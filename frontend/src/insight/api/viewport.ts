/** What a window holds, as the server sends it: typed columns, one block of rows for each depth of a lane. */

export const MAGIC = 0x31565341;
export const VERSION = 1;
const HEADER = 16;
const BLOCK = 32;

/** The rows of one depth of a lane, by start; a row with a count above 1 stands for that many slices. */
export interface Block {
  profile: number;
  track: number;
  depth: number;
  /** Slices that the rows stand for. */
  slices: number;
  /** Slices of the whole lane at this depth. */
  inLane: number;
  /** Nanoseconds from the origin of the profile. */
  start: Float64Array;
  end: Float64Array;
  /** Time in which one of them ran; for counters the highest value. */
  busy: Float64Array;
  /** Number of the longest slice in the lane, for asking about it. */
  slice: Float64Array;
  count: Uint32Array;
  name: Uint32Array;
  kind: Uint8Array;
}

/** Lanes of one profile, and which time of it. */
export interface Wanted {
  profile: number;
  from: number;
  to: number;
  tracks: readonly number[];
}

export class FrameError extends Error {}

export function decodeViewport(buffer: ArrayBuffer): Block[] {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEADER || view.getUint32(0, true) !== MAGIC) throw new FrameError("not a viewport");
  const version = view.getUint32(4, true);
  if (version !== VERSION) throw new FrameError(`viewport version ${version}`);
  const blockCount = view.getUint32(8, true);
  const rowCount = view.getUint32(12, true);
  const columns = HEADER + blockCount * BLOCK;
  if (buffer.byteLength < columns + rowCount * 41) throw new FrameError("cut viewport");
  const wide = (number: number): Float64Array => new Float64Array(buffer, columns + number * 8 * rowCount, rowCount);
  const start = wide(0);
  const end = wide(1);
  const busy = wide(2);
  const slice = wide(3);
  const count = new Uint32Array(buffer, columns + 32 * rowCount, rowCount);
  const name = new Uint32Array(buffer, columns + 36 * rowCount, rowCount);
  const kind = new Uint8Array(buffer, columns + 40 * rowCount, rowCount);
  const blocks: Block[] = [];
  let first = 0;
  for (let number = 0; number < blockCount; number++) {
    const at = HEADER + number * BLOCK;
    const rows = view.getUint32(at + 12, true);
    const last = first + rows;
    if (last > rowCount) throw new FrameError("blocks hold more rows than the viewport");
    blocks.push({
      profile: view.getUint32(at, true),
      track: view.getUint32(at + 4, true),
      depth: view.getUint32(at + 8, true),
      slices: view.getFloat64(at + 16, true),
      inLane: view.getFloat64(at + 24, true),
      start: start.subarray(first, last),
      end: end.subarray(first, last),
      busy: busy.subarray(first, last),
      slice: slice.subarray(first, last),
      count: count.subarray(first, last),
      name: name.subarray(first, last),
      kind: kind.subarray(first, last),
    });
    first = last;
  }
  return blocks;
}

/** The parameter `q` of `viewport` and `selection`; an empty list of lanes asks for all. */
export function queryOf(wanted: readonly Wanted[]): string {
  return wanted.map((one) => `${one.profile}:${numberText(one.from)}:${numberText(one.to)}:${one.tracks.join(",")}`).join(";");
}

/** Times of a query need no more than a thousandth of a nanosecond, and never an exponent. */
function numberText(value: number): string {
  return value.toFixed(3).replace(/\.?0+$/, "");
}

/** The first row that ends behind a time; rows of one depth lie apart, so their ends rise too. */
export function firstRow(block: Block, time: number): number {
  let low = 0;
  let high = block.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((block.end[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
