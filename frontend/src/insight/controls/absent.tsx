/** What is not here: why, and what collects it. Never a zero, never an empty box. */

import { named, t } from "../shell/words";

export interface Why {
  state: string;
  reason?: string | undefined;
  turn_on?: string | undefined;
}

export function Absent({ why }: { why: Why }) {
  return (
    <p class="absent">
      {named("absent", why.state)}
      {why.reason ? `: ${why.reason}` : ""}
      {why.turn_on && (
        <span class="turn-on">
          {t("absent-page.turn-on")} <code>{why.turn_on}</code>
        </span>
      )}
    </p>
  );
}
