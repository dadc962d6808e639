/** The part below the canvas: one of five panels, as tall as it was drawn. */

import { useState } from "preact/hooks";
import { t } from "../shell/words";
import type { Controls } from "./controls";
import { Tool } from "./icons";
import type { PanelName } from "./model";
import { MarksPanel } from "./panel-marks";
import { RangePanel } from "./panel-range";
import { SearchPanel } from "./panel-search";
import { SlicePanel } from "./panel-slice";
import { TablePanel } from "./panel-table";

const PANELS: readonly PanelName[] = ["slice", "range", "search", "marks", "table"];
const LEAST = 90;

export function Panels({ controls }: { controls: Controls }) {
  const { model } = controls;
  const [height, setHeight] = useState(250);
  const open = model.panelOpen.value;
  const panel = model.panel.value;
  const grow = (by: number): void => setHeight((before) => Math.min(Math.max(LEAST, before + by), innerHeight - 300));
  const drag = (event: PointerEvent): void => {
    const handle = event.currentTarget as HTMLElement;
    handle.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent): void => grow(-moved.movementY);
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", move), { once: true });
  };
  const keys = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowUp" ? 24 : event.key === "ArrowDown" ? -24 : 0;
    if (by === 0) return;
    event.preventDefault();
    grow(by);
  };
  const arrow = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const next = PANELS[(PANELS.indexOf(panel) + by + PANELS.length) % PANELS.length] ?? "slice";
    controls.panel(next);
    document.getElementById(`tl-tab-${next}`)?.focus();
  };
  return (
    <section class={`tl-panel ${open ? "" : "closed"}`} aria-label={t("timeline.panel")} style={{ height: open ? `${height}px` : "auto" }}>
      {open && (
        <div
          class="tl-grip" role="separator" aria-orientation="horizontal" aria-label={t("timeline.panel.size")} tabIndex={0}
          aria-valuenow={height} aria-valuemin={LEAST} aria-valuemax={innerHeight - 300} onPointerDown={drag} onKeyDown={keys}
        />
      )}
      <div class="tl-tabs">
        <div role="tablist" aria-label={t("timeline.panel")} onKeyDown={arrow}>
          {PANELS.map((name) => (
            <button
              key={name} type="button" role="tab" id={`tl-tab-${name}`} aria-selected={open && name === panel} aria-controls={open ? "tl-panel-box" : undefined}
              tabIndex={name === panel ? 0 : -1} onClick={() => (name === "search" ? controls.openSearch() : controls.panel(name))}
            >
              {t(`timeline-panel.${name}`)}
              {name === "marks" && model.marks.value.length > 0 && <span class="tl-badge">{model.marks.value.length}</span>}
              {name === "search" && model.hitCount.value !== null && <span class="tl-badge">{model.hitCount.value.toLocaleString("en-US")}</span>}
            </button>
          ))}
        </div>
        <p class="tl-said" aria-live="polite" data-said>{model.said.value}</p>
        <Tool icon={open ? "open" : "shallow"} says={t("timeline-key.panel")} act={() => controls.togglePanel()} />
      </div>
      {open && (
        <div class="tl-panel-box" id="tl-panel-box" role="tabpanel" aria-labelledby={`tl-tab-${panel}`}>
          {panel === "slice" && <SlicePanel controls={controls} />}
          {panel === "range" && <RangePanel controls={controls} />}
          {panel === "search" && <SearchPanel controls={controls} />}
          {panel === "marks" && <MarksPanel controls={controls} />}
          {panel === "table" && <TablePanel controls={controls} />}
        </div>
      )}
    </section>
  );
}
