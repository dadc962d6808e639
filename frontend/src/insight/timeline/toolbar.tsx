/** The bar above the canvas. */

import { quantityText } from "../../text/quantities";
import { named, t } from "../shell/words";
import { AlignMenu } from "./align-menu";
import type { Controls } from "./controls";
import { Tool } from "./icons";
import { Menu } from "./menu";
import { lengthOf, zoomed } from "./scale";
import { changeColour } from "./palette";
import { Swatch, isDark } from "./swatch";

export function Toolbar({ controls }: { controls: Controls }) {
  const { model, mover } = controls;
  const tree = model.tree.value;
  const zoom = (factor: number): void => {
    const span = model.span.peek();
    mover.go(zoomed(span, (span.from + span.to) / 2, factor, model.whole.peek()));
  };
  const left = tree.hiddenCount + tree.filteredCount;
  return (
    <div class="tl-bar" role="toolbar" aria-label={t("timeline.tools")}>
      <input
        type="search" class="tl-field tl-filter" placeholder={t("timeline.filter")} aria-label={t("timeline.filter")} value={model.filter.value} spellcheck={false}
        onInput={(event) => { model.filter.value = event.currentTarget.value; model.scrollTop.value = 0; }}
        onKeyDown={(event) => { if (event.key === "Escape" || event.key === "Enter") { event.preventDefault(); controls.focusCanvas(); } }}
      />
      {left > 0 && (
        <span class="tl-left soft">
          {t("timeline.left-out", { count: left })}
          {tree.hiddenCount > 0 && <button type="button" class="tl-link" onClick={() => controls.showHidden()}>{t("timeline.show-hidden")}</button>}
        </span>
      )}
      <span class="tl-group">
        <Tool icon="minus" says={t("timeline-key.zoom-out")} act={() => zoom(2)} />
        <Tool icon="plus" says={t("timeline-key.zoom-in")} act={() => zoom(0.5)} />
        <Tool icon="all" says={t("timeline-key.reset")} act={() => mover.reset()} />
        <Tool icon="back" says={t("timeline-key.undo")} act={() => mover.back()} />
      </span>
      <span class="tl-group">
        <Tool icon="box" says={t("timeline.drag.selects")} pressed={!model.dragMoves.value} act={() => { model.dragMoves.value = false; }} />
        <Tool icon="move" says={t("timeline.drag.moves")} pressed={model.dragMoves.value} act={() => { model.dragMoves.value = true; }} />
      </span>
      <Tool icon="find" says={t("timeline-key.search")} act={() => controls.openSearch()} />
      <AlignMenu controls={controls} />
      <LanesMenu controls={controls} />
      <Legend controls={controls} />
      {model.runs.value.length > 1 && model.changes.value !== null && (
        <label class="tl-check">
          <input type="checkbox" checked={model.compare.value} onChange={(event) => { model.compare.value = event.currentTarget.checked; }} />{" "}
          {t("timeline.compare")}
        </label>
      )}
      <WindowLength controls={controls} />
    </div>
  );
}

/** Apart, because it follows the window. */
function WindowLength({ controls }: { controls: Controls }) {
  return <output class="tl-window" title={t("timeline.window")}>{quantityText(lengthOf(controls.model.span.value), "ns")}</output>;
}

function LanesMenu({ controls }: { controls: Controls }) {
  const { model } = controls;
  const lane = model.lane.value;
  return (
    <Menu says={t("timeline.menu.lanes")}>
      <div class="tl-acts">
        <button type="button" onClick={() => controls.foldAll(true)}>{t("timeline.fold-all")}</button>
        <button type="button" onClick={() => controls.foldAll(false)}>{t("timeline.open-all")}</button>
        <button type="button" disabled={lane === null} onClick={() => lane !== null && controls.pinSame(lane)}>{t("timeline.pin-same")}</button>
        <button type="button" disabled={model.pinned.value.length === 0} onClick={() => { model.pinned.value = []; }}>{t("timeline.unpin-all")}</button>
        <button type="button" disabled={model.hidden.value.size === 0} onClick={() => controls.showHidden()}>{t("timeline.show-hidden")}</button>
      </div>
    </Menu>
  );
}

const LEGEND = ["compute", "fused", "exposed_communication", "overlapped_communication", "exposed_copy", "free", "communication", "copy", "sync", "data", "forward", "backward", "optimizer", "other"];

function Legend({ controls }: { controls: Controls }) {
  const known = new Set(controls.model.runs.value.flatMap((run) => run.tracks.kinds));
  return (
    <Menu says={t("timeline.menu.legend")}>
      <ul class="tl-legend">
        {LEGEND.filter((kind) => known.has(kind)).map((kind) => (
          <li key={kind}><Swatch kind={kind} /> {named("timeline-kind", kind)}</li>
        ))}
        {controls.model.compare.value && (
          <li class="tl-diverging">
            {t("timeline.legend.faster")}
            <span aria-hidden="true">{[-0.3, -0.15, -0.03, 0.03, 0.15, 0.3].map((change) => <i key={change} style={{ background: changeColour(change, isDark()) }} />)}</span>
            {t("timeline.legend.slower")}
          </li>
        )}
        <li class="soft">{t("timeline.legend.many")}</li>
      </ul>
    </Menu>
  );
}
