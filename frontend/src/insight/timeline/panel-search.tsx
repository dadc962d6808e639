/** Searches names and arguments; the list of what was found leads to the slices. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { quantityText } from "../../text/quantities";
import { t } from "../shell/words";
import { exactText } from "./axis";
import type { Controls } from "./controls";
import { Tool } from "./icons";
import { type Found, sliceName } from "./model";
import { type Column, Rows } from "./rows";

export function SearchPanel({ controls }: { controls: Controls }) {
  const { model, searcher } = controls;
  const search = model.search.value;
  const hits = model.hits.value;
  const count = model.hitCount.value;
  const field = useRef<HTMLInputElement>(null);
  const wanted = controls.searchWanted.value;
  useLayoutEffect(() => { // before the next key comes
    if (wanted === 0) return;
    field.current?.focus();
    field.current?.select();
  }, [wanted]);
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Enter") {
      event.preventDefault();
      searcher.go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      controls.focusCanvas();
    }
  };
  const columns: Column<Found>[] = [
    { key: "name", says: t("timeline.column.name"), cell: (hit) => sliceName(model.lanes.value.get(model.laneOf(hit)), hit.ref.name) },
    { key: "rank", says: t("timeline.column.rank"), cell: (hit) => hit.profileLabel },
    { key: "lane", says: t("timeline.column.lane"), cell: (hit) => model.lanes.value.get(model.laneOf(hit))?.track.label ?? hit.trackLabel },
    { key: "start", says: t("timeline.slice.start"), right: true, cell: (hit) => exactText(model.spanOf(hit).from) },
    { key: "dur", says: t("timeline.slice.dur"), right: true, cell: (hit) => quantityText(hit.ref.dur, "ns") },
  ];
  const option = (name: "matchCase" | "wholeWord", says: string) => (
    <label>
      <input type="checkbox" checked={search[name]} onChange={(event) => searcher.change({ [name]: event.currentTarget.checked })} /> {says}
    </label>
  );
  return (
    <div class="tl-search">
      <div class="tl-search-bar" role="search">
        <input
          ref={field} type="search" class="tl-field" value={search.text} placeholder={t("timeline.search.field")} aria-label={t("timeline.search.field")}
          spellcheck={false} onInput={(event) => searcher.change({ text: event.currentTarget.value })} onKeyDown={key}
        />
        <select aria-label={t("timeline.search.where")} value={search.where} onChange={(event) => searcher.change({ where: event.currentTarget.value === "arguments" ? "arguments" : "name" })}>
          <option value="name">{t("timeline.search.names")}</option>
          <option value="arguments">{t("timeline.search.arguments")}</option>
        </select>
        {option("matchCase", t("timeline.search.case"))}
        {option("wholeWord", t("timeline.search.word"))}
        <span class="soft" role="status" data-hits={count ?? ""}>
          {count !== null && t("timeline.search.count", { count })}
          {model.hitAt.value >= 0 && ` \u00b7 ${model.hitAt.value + 1} / ${hits.length}`}
        </span>
        <span class="tl-buttons">
          <Tool icon="previous" says={t("timeline-key.previous-hit")} act={() => searcher.go(-1)} disabled={hits.length === 0} />
          <Tool icon="next" says={t("timeline-key.next-hit")} act={() => searcher.go(1)} disabled={hits.length === 0} />
        </span>
      </div>
      {hits.length > 0 && <Rows label={t("timeline.search.table")} columns={columns} rows={hits} chosen={model.hitAt.value} onChoose={(_, at) => searcher.at(at)} />}
      {count !== null && count > hits.length && hits.length > 0 && (
        <button type="button" class="tl-more" onClick={() => void searcher.more()}>
          {t("timeline.search.more", { shown: hits.length, count })}
        </button>
      )}
    </div>
  );
}
