/** What is not here: why, and what collects it. Never a zero, never an empty box. */

import { reasonText, turnOnText } from "../shell/reasons";
import { named, t } from "../shell/words";

export interface Why {
  state: string;
  reason?: string | undefined;
  turn_on?: string | undefined;
}

export function Absent({ why }: { why: Why }) {
  return (
    <p class="absent">
      {absentText(why)}
      {why.turn_on && (
        <span class="turn-on">
          {t("absent-page.turn-on")} <code>{turnOnText(why.turn_on)}</code>
        </span>
      )}
    </p>
  );
}

/** The state and its reason; a reason that says the state itself stands alone. */
export function absentText({ state, reason }: Why): string {
  const said = named("absent", state);
  const because = reasonText(reason ?? "");
  if (!because) return said;
  return because.toLowerCase().includes(said.toLowerCase()) ? because : t("absent.because", { state: said, reason: because });
}
