/** The timeline of a run, or of two runs beside each other. */

import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { expose } from "../shell/debug";
import { useBindings } from "../shell/keys";
import { Notice } from "../shell/notice";
import { route } from "../shell/router";
import { session } from "../shell/session";
import { language } from "../shell/settings";
import { t } from "../shell/words";
import { bindingsOf } from "./bindings";
import { Controls } from "./controls";
import { LinkKeeper } from "./linking";
import { LaneNames } from "./names";
import { Panels } from "./panels";
import { listen } from "./pointer";
import { Stage } from "./stage";
import { Tip } from "./tip";
import { Toolbar } from "./toolbar";
import "./timeline.css";

export function TimelinePage({ run }: { run: string }) {
  const controls = useMemo(() => new Controls(run), [run]);
  const keys = useMemo(() => bindingsOf(controls), [controls]);
  useBindings(keys);
  const begin = useRef((): void => undefined);
  useEffect(() => {
    const keeper = new LinkKeeper(controls, route.peek().given);
    const others = (session.peek()?.runs ?? []).filter((one) => one.state === "ready");
    const first = others.find((one) => one.id === run);
    const shown = first ? [first, ...others.filter((one) => one !== first)].slice(0, 2) : [{ id: run, name: run }];
    begin.current = () => {
      controls.model.failure.value = null;
      controls.load(shown).then((unread) => {
        void keeper.start();
        if (unread !== null) controls.model.failure.value = unread;
      }).catch((error: unknown) => {
        controls.model.failure.value = error;
      });
    };
    begin.current();
    return () => {
      keeper.stop();
      controls.loader.clear();
    };
  }, [controls]);
  const code = language.value;
  useEffect(() => {
    if (controls.model.runs.peek().length > 0) {
      controls.relabel().catch((error: unknown) => {
        controls.model.failure.value = error;
      });
    }
  }, [code]);
  const failure = controls.model.failure.value;
  return (
    <main id="main" class="tl" tabIndex={-1}>
      <h1 class="unseen">{t("page.timeline")}</h1>
      {failure !== null && <Notice error={failure} again={() => (controls.model.runs.peek().length === 0 ? begin.current() : controls.retry())} />}
      {controls.model.runs.value.length === 0 ? failure === null && <p class="tl-hint" role="status">{t("timeline.loading")}</p> : <Shown controls={controls} />}
    </main>
  );
}

function Shown({ controls }: { controls: Controls }) {
  const { model } = controls;
  const [names, setNames] = useState(270);
  const scroll = useRef<HTMLDivElement>(null);
  const main = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const tree = model.tree.value;

  useEffect(() => {
    if (!scroll.current || !main.current || !over.current) return undefined;
    const box = scroll.current;
    const canvas = over.current;
    const stage = new Stage(main.current, canvas, model, controls.loader, controls.drawn);
    controls.showOn(stage);
    const place = canvas.parentElement ?? box;
    const fit = (): void => stage.resize(place.clientWidth, box.clientHeight);
    const observer = new ResizeObserver(fit);
    observer.observe(box);
    observer.observe(place);
    fit();
    const deaf = listen(canvas, { model, stage, loader: controls.loader, mover: controls.mover, chooser: controls.chooser, ranger: controls.ranger });
    const up = (event: KeyboardEvent): void => controls.mover.release(event.code);
    const away = (): void => controls.mover.release(null);
    addEventListener("keyup", up);
    addEventListener("blur", away);
    const still = effect(() => {
      const top = model.scrollTop.value;
      void model.tree.value;
      if (Math.abs(box.scrollTop - top) > 0.5) box.scrollTop = top;
    });
    expose("timeline", () => debugState(controls, stage));
    return () => {
      still();
      deaf();
      observer.disconnect();
      removeEventListener("keyup", up);
      removeEventListener("blur", away);
      stage.destroy();
      controls.showOn(null);
    };
  }, [controls]);

  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => setNames((before) => Math.min(640, Math.max(120, before + moved.movementX)));
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
  };
  const sideways = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 20 : event.key === "ArrowLeft" ? -20 : 0;
    if (by === 0) return;
    event.preventDefault();
    setNames((before) => Math.min(640, Math.max(120, before + by)));
  };
  return (
    <>
      <Toolbar controls={controls} />
      <div class="tl-scroll" ref={scroll} onScroll={() => { model.scrollTop.value = scroll.current?.scrollTop ?? 0; }}>
        <div class="tl-view">
          <LaneNames controls={controls} width={names} />
          <div
            class="tl-split" role="separator" aria-orientation="vertical" aria-label={t("timeline.names.size")} tabIndex={0}
            aria-valuenow={names} aria-valuemin={120} aria-valuemax={640} onPointerDown={drag} onKeyDown={sideways}
          />
          <div class="tl-canvases">
            <canvas ref={main} aria-hidden="true" />
            <canvas ref={over} id="tl-canvas" class={model.dragMoves.value ? "moves" : ""} tabIndex={0} role="application" aria-label={t("timeline.canvas")} />
            <Tip controls={controls} />
          </div>
        </div>
        <div class="tl-spacer" style={{ height: `${Math.max(0, tree.height + tree.pinnedHeight - model.height.value)}px` }} aria-hidden="true" />
      </div>
      <Panels controls={controls} />
    </>
  );
}

/** What tests read of the page. */
function debugState(controls: Controls, stage: Stage): object {
  const { model, loader, mover } = controls;
  return {
    ...stage.frames,
    busy:
      loader.busy || stage.stale || controls.telling || mover.moving || model.selecting.peek() ||
      (model.pick.peek() !== null && model.detail.peek() === null),
    span: model.span.peek(),
    places: Object.fromEntries(model.places.peek()),
    pick: model.pick.peek(),
    lane: model.lane.peek(),
    links: (model.detail.peek()?.links ?? []).map((link) => link.kind),
    range: model.range.peek(),
    lanes: Object.fromEntries(stage.counts),
    pinned: model.pinned.peek(),
    changed: model.changes.peek()?.size ?? 0,
    searched: controls.searcher.answered,
    width: model.width.peek(),
    scrollTop: model.scrollTop.peek(),
  };
}
