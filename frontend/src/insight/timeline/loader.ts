/** Fetches what the window needs: one request at a time, the newest wish first, one window ahead to each side. */

import type { Block, Wanted } from "../api/viewport";
import { type Piece, added, covered, pieceOf } from "./pieces";
import { type Span, lengthOf } from "./scale";

/** A lane that is on the screen, and where its profile stands on the common time. */
export interface Shown {
  id: string;
  run: string;
  profile: number;
  track: number;
  /** Common time of the origin of the profile. */
  place: number;
  /** Length of the profile. */
  dur: number;
}

export interface View {
  span: Span;
  width: number;
  shown: readonly Shown[];
}

export type Fetch = (run: string, wanted: readonly Wanted[], pixels: number, signal: AbortSignal) => Promise<Block[]>;

interface Job extends Span {
  pixels: number;
  lanes: Shown[];
}

/** Rows that are kept of all lanes together: about 120 MB. */
const ROWS = 3_000_000;
const OVERVIEW_PIXELS = 1000;
const LANES_A_REQUEST = 200;

export class Loader {
  readonly #fetch: Fetch;
  readonly #arrived: () => void;
  readonly #failed: (error: unknown) => void;
  readonly #lanes = new Map<string, Piece[]>();
  #rows = 0;
  #view: View | null = null;
  #running: { job: Job; abort: AbortController } | null = null;
  #broken = false;

  constructor(fetch: Fetch, arrived: () => void, failed: (error: unknown) => void) {
    this.#fetch = fetch;
    this.#arrived = arrived;
    this.#failed = failed;
  }

  pieces(id: string): readonly Piece[] {
    return this.#lanes.get(id) ?? [];
  }

  get busy(): boolean {
    return this.#running !== null;
  }

  /** Says what is on the screen; called for every frame that is drawn. */
  want(view: View): void {
    this.#view = view;
    if (this.#running && stale(this.#running.job, view)) {
      this.#running.abort.abort();
      this.#running = null;
    }
    if (!this.#running) this.#start();
  }

  /** Asks again for what could not be fetched. */
  retry(): void {
    this.#broken = false;
    this.#start();
  }

  /** Forgets everything, as when the lanes are those of another run. */
  clear(): void {
    this.#running?.abort.abort();
    this.#running = null;
    this.#view = null;
    this.#lanes.clear();
    this.#rows = 0;
  }

  #start(): void {
    if (this.#view === null || this.#broken) return;
    const job = nextJob(this.#view, (id) => this.pieces(id));
    if (job === null) return;
    const running = { job, abort: new AbortController() };
    this.#running = running;
    const runs = new Map<string, Shown[]>();
    for (const lane of job.lanes) runs.set(lane.run, [...(runs.get(lane.run) ?? []), lane]);
    const asked = [...runs].map(async ([run, lanes]) => {
      this.#keep(job, lanes, await this.#fetch(run, wantedOf(job, lanes), job.pixels, running.abort.signal));
    });
    Promise.all(asked).then(
      () => {
        if (this.#running === running) this.#running = null;
        this.#arrived();
        if (this.#running === null) this.#start();
      },
      (error: unknown) => {
        if (this.#running !== running) return; // aborted
        this.#running = null;
        this.#broken = true;
        this.#failed(error);
      },
    );
  }

  #keep(job: Job, lanes: readonly Shown[], blocks: readonly Block[]): void {
    const byLane = new Map<string, Block[]>();
    for (const block of blocks) {
      const key = `${block.profile}.${block.track}`;
      const list = byLane.get(key);
      if (list) list.push(block);
      else byLane.set(key, [block]);
    }
    for (const lane of lanes) {
      const span = { from: job.from - lane.place, to: job.to - lane.place };
      const piece = pieceOf(span, lengthOf(span) / job.pixels, byLane.get(`${lane.profile}.${lane.track}`) ?? []);
      const before = this.pieces(lane.id);
      const after = added(before, piece);
      this.#rows += rowsOf(after) - rowsOf(before);
      this.#lanes.delete(lane.id);
      this.#lanes.set(lane.id, after);
    }
    for (const [id, pieces] of this.#lanes) {
      if (this.#rows <= ROWS) break;
      if (lanes.some((lane) => lane.id === id)) continue;
      this.#rows -= rowsOf(pieces);
      this.#lanes.delete(id);
    }
  }
}

/** The most urgent request that is left: the window itself, then a window to each side, then the whole of the lanes. */
export function nextJob(view: View, pieces: (id: string) => readonly Piece[]): Job | null {
  const length = lengthOf(view.span);
  if (!(length > 0) || view.width < 1) return null;
  const perPixel = length / view.width;
  const lacking = (span: Span, sharp: number): Shown[] =>
    view.shown
      .filter((lane) => {
        // Beside its capture a lane has nothing to fetch.
        const from = Math.max(span.from - lane.place, 0);
        const to = Math.min(span.to - lane.place, lane.dur);
        return from <= to && !covered(pieces(lane.id), { from, to }, sharp);
      })
      .slice(0, LANES_A_REQUEST);

  const now = lacking(view.span, perPixel);
  if (now.length > 0) return { ...view.span, pixels: Math.round(view.width), lanes: now };
  const wide = { from: view.span.from - length, to: view.span.to + length };
  // Half a window on each side is left before it is fetched anew, so that a pan asks once in a while.
  const soon = lacking({ from: view.span.from - length / 2, to: view.span.to + length / 2 }, perPixel);
  if (soon.length > 0) return { ...wide, pixels: Math.round(3 * view.width), lanes: soon };
  const whole = view.shown.reduce<Span | null>(
    (all, lane) => ({ from: Math.min(all?.from ?? Infinity, lane.place), to: Math.max(all?.to ?? -Infinity, lane.place + lane.dur) }),
    null,
  );
  if (whole === null || !(lengthOf(whole) > 0)) return null;
  const overview = lacking(whole, lengthOf(whole) / OVERVIEW_PIXELS);
  return overview.length > 0 ? { ...whole, pixels: OVERVIEW_PIXELS, lanes: overview } : null;
}

/** A running request of which the window would use nothing, or only something far too coarse. */
export function stale(job: Span & { pixels: number }, view: View): boolean {
  if (job.to <= view.span.from || job.from >= view.span.to) return true;
  return lengthOf(job) / job.pixels > (4 * lengthOf(view.span)) / view.width && job.pixels !== OVERVIEW_PIXELS;
}

function wantedOf(job: Job, lanes: readonly Shown[]): Wanted[] {
  const profiles = new Map<number, Wanted & { tracks: number[] }>();
  for (const lane of lanes) {
    const known = profiles.get(lane.profile);
    if (known) known.tracks.push(lane.track);
    else profiles.set(lane.profile, { profile: lane.profile, from: job.from - lane.place, to: job.to - lane.place, tracks: [lane.track] });
  }
  return [...profiles.values()];
}

function rowsOf(pieces: readonly Piece[]): number {
  return pieces.reduce((rows, piece) => rows + piece.blocks.reduce((all, block) => all + block.start.length, 0), 0);
}
