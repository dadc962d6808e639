/** What is known of the chosen slice: times, arguments, and what it is linked to. */

import { quantityText } from "../../text/quantities";
import type { Link, Value } from "../api/timeline";
import { named, t } from "../shell/words";
import { exactText } from "./axis";
import type { Controls } from "./controls";
import { sliceName } from "./model";
import { Tool } from "./icons";
import { Swatch } from "./swatch";

const LINKS_SHOWN = 60;

export function SlicePanel({ controls }: { controls: Controls }) {
  const { model, chooser } = controls;
  const pick = model.pick.value;
  const detail = model.detail.value;
  if (!pick) return <p class="tl-hint">{t("timeline.slice.none")}</p>;
  const lane = model.lanes.value.get(model.laneOf(pick));
  const span = model.spanOf(pick);
  const facts: [string, string][] = [
    [t("timeline.slice.dur"), quantityText(pick.ref.dur, "ns")],
    [t("timeline.slice.start"), exactText(span.from)],
  ];
  if (detail) {
    if (detail.self_ns !== null) facts.splice(1, 0, [t("timeline.slice.self"), quantityText(detail.self_ns, "ns")]);
    if (detail.step !== null) facts.push([t("timeline.slice.step"), String(detail.step)]);
    facts.push([t("timeline.slice.clock"), `${detail.ts_ns} ns`]);
  }
  return (
    <div class="tl-slice">
      <div class="tl-slice-head">
        <Swatch kind={detail?.kind ?? ""} />
        <h2 data-slice-name>{sliceName(lane, pick.ref.name)}</h2>
        <span class="soft">{[lane?.profile.label, lane?.track.label].filter(Boolean).join(" \u00b7 ")}</span>
        <span class="tl-buttons">
          <Tool icon="previous" says={t("timeline-key.previous-slice")} act={() => chooser.neighbour("previous")} disabled={!detail?.previous} />
          <Tool icon="next" says={t("timeline-key.next-slice")} act={() => chooser.neighbour("next")} disabled={!detail?.next} />
          <Tool icon="all" says={t("timeline-key.fit")} act={() => chooser.frame()} />
          <Tool icon="box" says={t("timeline-key.range")} act={() => controls.ranger.ofSlice()} />
          <Tool icon="flag" says={t("timeline-key.mark")} act={() => controls.marker.add(span.from)} />
        </span>
      </div>
      <div class="tl-slice-body">
        <dl class="tl-facts">{facts.map(([what, much]) => <Fact key={what} what={what} much={much} />)}</dl>
        {detail ? (
          <>
            {detail.stages && <Stages stages={detail.stages} whole={pick.ref.dur} />}
            <Arguments values={detail.arguments} />
            <Links controls={controls} links={detail.links} />
          </>
        ) : (
          <p class="soft" role="status">{t("timeline.loading")}</p>
        )}
      </div>
    </div>
  );
}

function Fact({ what, much }: { what: string; much: string }) {
  return (
    <div>
      <dt>{what}</dt>
      <dd>{much}</dd>
    </div>
  );
}

/** What a request is made of. */
function Stages({ stages, whole }: { stages: Record<string, number>; whole: number }) {
  return (
    <section data-stages>
      <h3>{t("timeline.slice.stages")}</h3>
      <dl class="tl-facts">
        {Object.entries(stages).map(([stage, ns]) => <Fact key={stage} what={named("latency", stage)} much={`${quantityText(ns, "ns")} (${quantityText(whole ? ns / whole : null, "ratio")})`} />)}
      </dl>
    </section>
  );
}

function Arguments({ values }: { values: Record<string, Value> }) {
  const shown = Object.entries(values).filter(([, value]) => value !== null && value !== "");
  if (shown.length === 0) return null;
  return (
    <section>
      <h3>{t("timeline.slice.arguments")}</h3>
      <dl class="tl-facts">{shown.map(([name, value]) => <Fact key={name} what={name} much={valueText(name, value)} />)}</dl>
    </section>
  );
}

/** Values in the unit that the name of the column states. */
export function valueText(name: string, value: Value): string {
  if (typeof value !== "number") return String(value);
  if (name.endsWith("_ns")) return quantityText(value, "ns");
  if (name.endsWith("_bytes")) return quantityText(value, "bytes");
  if (name.endsWith("_per_s")) return quantityText(value, "bytes_per_s");
  return name.endsWith("_ratio") ? quantityText(value, "ratio") : String(value);
}

function Links({ controls, links }: { controls: Controls; links: readonly Link[] }) {
  const { model, chooser } = controls;
  const run = model.pick.value?.run ?? "";
  if (links.length === 0 && model.trail.value.length === 0) return null;
  return (
    <section class="tl-links">
      <h3>
        {t("timeline.slice.links")} {links.length > 0 && <kbd>Enter</kbd>}
      </h3>
      <ul>
        {model.trail.value.length > 0 && (
          <li>
            <button type="button" class="tl-link" onClick={() => chooser.followBack()}>{t("timeline-key.follow-back")}</button>
          </li>
        )}
        {links.slice(0, LINKS_SHOWN).map((link, number) => {
          const lane = model.lanes.value.get(model.laneOf({ run, ref: link.ref }));
          return (
            <li key={number}>
              <span class="tl-kind">{named("timeline-link", link.kind)}</span>
              <button type="button" class="tl-link" data-link={link.kind} onClick={() => chooser.follow(link)}>{link.ref.name || link.kind}</button>
              <span class="soft">{[lane?.profile.label, lane?.track.label, quantityText(link.ref.dur, "ns")].filter(Boolean).join(" \u00b7 ")}</span>
            </li>
          );
        })}
        {links.length > LINKS_SHOWN && <li class="soft">{t("timeline.more", { count: links.length - LINKS_SHOWN })}</li>}
      </ul>
    </section>
  );
}
