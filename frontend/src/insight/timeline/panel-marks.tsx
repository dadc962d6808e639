/** The list of marks: named, coloured, gone to, saved, exported. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { quantityText } from "../../text/quantities";
import type { Mark } from "../api/timeline";
import { t } from "../shell/words";
import { exactText } from "./axis";
import type { Controls } from "./controls";
import { Tool } from "./icons";

export function MarksPanel({ controls }: { controls: Controls }) {
  const marks = controls.model.marks.value;
  const file = useRef<HTMLInputElement>(null);
  const ordered = [...marks].sort((one, other) => one.from - other.from);
  return (
    <div class="tl-marks">
      <div class="tl-slice-head">
        <h2>{t("timeline-panel.marks")}</h2>
        <span class="soft">{marks.length === 0 ? t("timeline.mark.none") : t("timeline.mark.kept")}</span>
        <span class="tl-buttons">
          <Tool icon="flag" says={t("timeline-key.mark")} act={() => controls.marker.add(controls.moment())} />
          <Tool icon="save" says={t("timeline.mark.export")} act={() => controls.marker.export()} disabled={marks.length === 0} />
          <Tool icon="load" says={t("timeline.mark.import")} act={() => file.current?.click()} />
          <input
            ref={file} type="file" accept=".json,application/json" hidden aria-label={t("timeline.mark.import")}
            onChange={(event) => {
              const chosen = event.currentTarget.files?.[0];
              event.currentTarget.value = "";
              void chosen?.text().then((text) => controls.marker.import(text));
            }}
          />
        </span>
      </div>
      <ul class="tl-mark-list">
        {ordered.map((mark) => <MarkRow key={mark.id} mark={mark} controls={controls} />)}
      </ul>
    </div>
  );
}

function MarkRow({ mark, controls }: { mark: Mark; controls: Controls }) {
  const { marker, mover } = controls;
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => { // before the next key comes
    if (marker.fresh !== mark.id) return;
    marker.fresh = null;
    field.current?.focus();
    field.current?.select();
  }, [mark.id]);
  const done = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    controls.focusCanvas();
  };
  const go = (): void => mover.fit(mark.from, mark.to ?? mark.from);
  return (
    <li data-mark={mark.id}>
      <input type="color" value={mark.colour} aria-label={t("timeline.mark.colour")} onChange={(event) => marker.change(mark.id, { colour: event.currentTarget.value })} />
      <input ref={field} class="tl-field" value={mark.name} aria-label={t("timeline.mark.label")} maxLength={200} onChange={(event) => marker.change(mark.id, { name: event.currentTarget.value })} onKeyDown={done} />
      <button type="button" class="tl-link" onClick={go}>{exactText(mark.from)}</button>
      <span class="soft">{mark.to === null ? "" : quantityText(mark.to - mark.from, "ns")}</span>
      <Tool icon="close" says={t("timeline.mark.remove", { name: mark.name })} act={() => marker.remove(mark.id)} />
    </li>
  );
}
