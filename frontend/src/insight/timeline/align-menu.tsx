/** How ranks are placed on the common time, with what the alignment leaves open, and by how much each was moved by hand. */

import { quantityText } from "../../text/quantities";
import { reasonText } from "../shell/reasons";
import { t } from "../shell/words";
import type { Controls } from "./controls";
import { Menu } from "./menu";

export function AlignMenu({ controls }: { controls: Controls }) {
  const { model, aligner } = controls;
  const offered = new Set(model.runs.value.flatMap((run) => run.tracks.alignments));
  const align = model.align.value;
  const pick = model.pick.value;
  const detail = model.detail.value;
  const first = model.runs.value[0];
  const collective = pick && detail?.table === "collective" && detail.key !== null && pick.run === first?.run ? `collective:${pick.ref.profile_id}:${detail.key}` : null;
  const choice = (way: string, says: string, can = true) => (
    <label class={can ? "" : "soft"}>
      <input type="radio" name="tl-align" checked={align === way} disabled={!can} onChange={() => void aligner.by(way)} /> {says}
    </label>
  );
  return (
    <Menu says={t("timeline.menu.align")} mark={align !== "" || Object.values(model.offsets.value).some((by) => by !== 0)}>
      <fieldset class="tl-align">
        <legend>{t("timeline.align.how")}</legend>
        {choice("", t("timeline.align.automatic"))}
        {choice("clock", t("timeline.align.clock"), offered.has("clock"))}
        {choice("steps", t("timeline.align.steps"), offered.has("steps"))}
        {choice("none", t("timeline.align.none"))}
        {align.startsWith("collective:") && align !== collective && choice(align, t("timeline.align.kept"))}
        {choice(collective ?? "collective", t("timeline.align.collective"), collective !== null)}
      </fieldset>
      <p class="tl-note">{t("timeline.align.edges")}</p>
      {model.shift.value && (
        <p class="tl-note">{model.shift.value.step === null ? t("timeline.align.runs-start") : t("timeline.align.runs", { step: model.shift.value.step })}</p>
      )}
      <table class="tl-table">
        <thead>
          <tr>
            <th class="left" scope="col">{t("timeline.column.rank")}</th>
            <th scope="col">{t("timeline.align.error")}</th>
            <th scope="col">{t("timeline.align.offset")}</th>
          </tr>
        </thead>
        <tbody>
          {model.runs.value.flatMap((run) =>
            run.tracks.profiles.slice(0, 128).map((profile) => {
              const id = `${run.run}.${profile.profile_id}`;
              const place = model.aligned.value.get(run.run)?.find((one) => one.profile_id === profile.profile_id);
              const error = place ? place.error_ns : align === "" ? profile.clock.error_ns : null;
              const reason = place ? place.reason : align === "" ? profile.clock.reason : null;
              const label = model.runs.value.length > 1 ? `${run.name} \u00b7 ${profile.label}` : profile.label;
              return (
                <tr key={id}>
                  <td class="left">{label}</td>
                  <td>{error === null ? (reasonText(reason ?? "") || "-") : `\u00b1 ${quantityText(error, "ns")}`}</td>
                  <td>
                    <input
                      type="number" step="any" class="tl-field tl-offset" aria-label={t("timeline.align.offset-of", { rank: label })}
                      value={(model.offsets.value[id] ?? 0) / 1000} onChange={(event) => aligner.offset(id, Math.round(Number(event.currentTarget.value) * 1000) || 0)}
                    />{" "}
                    us
                  </td>
                </tr>
              );
            }),
          )}
        </tbody>
      </table>
    </Menu>
  );
}
