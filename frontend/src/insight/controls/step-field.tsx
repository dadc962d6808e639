/** The number of a step, as an end of those that are looked at. */

import { change } from "../shell/router";
import { t } from "../shell/words";

export function StepField({ name, value, otherwise }: { name: "from_step" | "to_step"; value: number | null; otherwise: number }) {
  return (
    <label class="field">
      <span>{t(`calls.${name}`)}</span>
      <input type="number" size={6} value={value ?? ""} placeholder={String(otherwise)} onChange={(event) => change({ [name]: event.currentTarget.value, root: null })} />
    </label>
  );
}
