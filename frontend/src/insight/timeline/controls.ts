/** What keys and buttons do, put together for one page. */

import { signal } from "@preact/signals";
import { getBytes, getJson, runPath } from "../api/client";
import { Names } from "../api/names";
import type { KernelChange, Step, Tracks } from "../api/timeline";
import { decodeViewport, queryOf } from "../api/viewport";
import { language } from "../shell/settings";
import { Aligner } from "./aligning";
import { Chooser } from "./choosing";
import { Loader } from "./loader";
import { Marker } from "./marking";
import { Model, type PanelName, type RunData } from "./model";
import { Mover } from "./moving";
import { Ranger } from "./ranging";
import { Searcher } from "./searching";
import type { Stage } from "./stage";
import { timeOf } from "./scale";
import { sectionId } from "./tree";

const TOLD_MS = 120;

export class Controls {
  readonly model = new Model();
  readonly loader: Loader;
  readonly mover: Mover;
  readonly chooser: Chooser;
  readonly ranger: Ranger;
  readonly searcher: Searcher;
  readonly marker: Marker;
  readonly aligner: Aligner;
  /** Counts how often the search was asked for, so that its field is typed in at once. */
  readonly searchWanted = signal(0);
  #stage: Stage | null = null;
  #told: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly run: string) {
    const { model } = this;
    this.loader = new Loader(
      async (of, wanted, pixels, signal) =>
        decodeViewport(await getBytes(runPath(of, "viewport"), { px: pixels, q: queryOf(wanted) }, signal)),
      () => this.arrived(),
      (error) => {
        model.failure.value = error;
      },
    );
    this.mover = new Mover(model, () => {
      const pointer = this.#stage?.pointer;
      return pointer ? timeOf(pointer.x, model.span.peek(), model.width.peek()) : Number.NaN;
    });
    this.chooser = new Chooser(model, this.mover, this.loader);
    this.ranger = new Ranger(model);
    this.searcher = new Searcher(model, this.chooser);
    this.marker = new Marker(model, run);
    this.aligner = new Aligner(model);
  }

  stage = (): Stage | null => this.#stage;

  showOn(stage: Stage | null): void {
    this.#stage = stage;
  }

  arrived(): void {
    this.model.arrived.value += 1;
  }

  /** A frame was drawn: numbers beside the lanes follow a few times in a second. */
  drawn = (): void => {
    this.#told ??= setTimeout(() => {
      this.#told = undefined;
      this.model.counted.value += 1;
    }, TOLD_MS);
  };

  /** Whether the numbers beside the lanes are older than what is drawn. */
  get telling(): boolean {
    return this.#told !== undefined;
  }

  /** Loads lanes and marks; the lanes are shown whatever becomes of the marks. Gives why these could not be read. */
  async load(runs: readonly { id: string; name: string }[]): Promise<unknown> {
    const loaded = await Promise.all(
      runs.map(async ({ id, name }): Promise<RunData> => {
        const [tracks, steps] = await Promise.all([getJson<Tracks>(runPath(id, "tracks"), { lang: language.peek() }), getJson<Step[]>(runPath(id, "steps"))]);
        const names = new Names((chunk) => getJson<string[]>(runPath(id, "names"), { chunk }), () => this.arrived());
        return { run: id, name, tracks, steps, names };
      }),
    );
    const unread = await this.#loadMarks();
    this.model.runs.value = loaded;
    const [base, candidate] = runs;
    if (base && candidate) await this.#loadChanges(base.id, candidate.id);
    return unread;
  }

  async #loadChanges(base: string, candidate: string): Promise<void> {
    const changes = await getJson<KernelChange[]>("kernel_changes", { base, candidate });
    this.model.changes.value = new Map(changes.map((change) => [change.name, change]));
  }

  /** Labels of lanes in the language that the reader changed to. */
  async relabel(): Promise<void> {
    const lang = language.peek();
    this.model.runs.value = await Promise.all(
      this.model.runs.peek().map(async (run) => ({ ...run, tracks: await getJson<Tracks>(runPath(run.run, "tracks"), { lang }) })),
    );
  }

  retry(): void {
    this.model.failure.value = null;
    this.loader.retry();
    void this.#loadMarks().then((unread) => {
      this.model.failure.value ??= unread;
    });
  }

  #loadMarks(): Promise<unknown> {
    return this.marker.load().then(() => null, (error: unknown) => error);
  }

  fold(id: string): void {
    this.model.folded.value = toggled(this.model.foldedNow.peek(), id);
  }

  foldAll(fold: boolean): void {
    const ranks = this.model.runs.peek().flatMap(({ run, tracks }) => tracks.profiles.map((profile) => `${run}.${profile.profile_id}`));
    this.model.folded.value = new Set(fold ? ranks : []);
  }

  deep(id: string): void {
    this.model.deep.value = toggled(this.model.deep.peek(), id);
  }

  pin(id: string): void {
    const { pinned } = this.model;
    pinned.value = pinned.peek().includes(id) ? pinned.peek().filter((one) => one !== id) : [...pinned.peek(), id];
  }

  /** Lanes of the same name on every rank. */
  pinSame(id: string): void {
    const lane = this.model.lanes.peek().get(id);
    if (!lane) return;
    const same = [...this.model.lanes.peek()].filter(([, one]) => one.track.side === lane.track.side && one.track.label === lane.track.label && one.track.parent === lane.track.parent);
    const ids = same.map(([one]) => one);
    const { pinned } = this.model;
    const all = ids.every((one) => pinned.peek().includes(one));
    pinned.value = all ? pinned.peek().filter((one) => !ids.includes(one)) : [...new Set([...pinned.peek(), ...ids])];
  }

  hide(id: string): void {
    this.model.hidden.value = toggled(this.model.hidden.peek(), id);
    this.model.pinned.value = this.model.pinned.peek().filter((one) => one !== id);
  }

  showHidden(): void {
    this.model.hidden.value = new Set();
  }

  /** Makes a lane the one that keys and the table are about. */
  current(id: string): void {
    this.model.lane.value = id;
  }

  panel(name: PanelName): void {
    const { panel, panelOpen } = this.model;
    panel.value = name;
    panelOpen.value = true;
    this.model.panelShut = false;
  }

  togglePanel(): void {
    const { panelOpen } = this.model;
    panelOpen.value = !panelOpen.peek();
    this.model.panelShut = !panelOpen.peek();
  }

  /** Folds or opens the part that a lane lies in. */
  foldAround(id: string): void {
    const lane = this.model.lanes.peek().get(id);
    if (lane) this.fold(sectionId(lane.run.run, lane.profile.profile_id, lane.track.side, lane.track.parent));
  }

  /** The time under the pointer, else the middle of the window. */
  moment(): number {
    const span = this.model.span.peek();
    const pointer = this.#stage?.pointer;
    return pointer ? timeOf(pointer.x, span, this.model.width.peek()) : (span.from + span.to) / 2;
  }

  openSearch(): void {
    this.panel("search");
    this.searchWanted.value += 1;
  }

  focusCanvas(): void {
    document.getElementById("tl-canvas")?.focus({ preventScroll: true });
  }

  clear(): void {
    this.chooser.clear();
    this.ranger.clear();
    this.model.base.value = null;
  }
}

function toggled<T>(set: ReadonlySet<T>, one: T): Set<T> {
  const next = new Set(set);
  if (!next.delete(one)) next.add(one);
  return next;
}
