/** Says what went wrong, and what helps. */

import { ApiError } from "../api/client";
import { t } from "./words";

export function Notice({ error, again }: { error: unknown; again?: (() => void) | undefined }) {
  const [message, hint] = saidBy(error);
  return (
    <div class="notice" role="alert">
      <b>{message}</b>
      {hint && <p>{hint}</p>}
      {again && (
        <button type="button" onClick={again}>
          {t("notice.again")}
        </button>
      )}
    </div>
  );
}

function saidBy(error: unknown): [string, string] {
  if (!(error instanceof ApiError)) return [t("notice.unknown"), error instanceof Error ? error.message : String(error)];
  if (error.status === 0) return [t("notice.unreachable"), t("notice.unreachable-hint")];
  if (error.status === 401 || error.status === 403) return [t("notice.refused"), t("notice.refused-hint")];
  return [error.message || t("notice.status", { status: String(error.status) }), error.hint];
}
