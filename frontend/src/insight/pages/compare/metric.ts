/** Names of metrics and their changes, as comparisons and trends say them. */

import type { Judgement } from "../../api/types";
import { isWord, t } from "../../shell/words";

export function metricText(metric: string): string {
  const key = `compare.metric.${metric.replaceAll("_", "-")}`;
  return isWord(key) ? t(key) : metric.replaceAll("_", " ");
}

/** A change in percent or points; one that rounds to nothing has no sign. */
export function changeText(change: number, kind: Judgement["change_kind"]): string {
  const percent = (100 * change).toFixed(Math.abs(change) < 0.1 ? 1 : 0);
  const text = Number(percent) === 0 ? "0" : `${change > 0 ? "+" : ""}${percent}`;
  return `${text} ${kind === "points" ? t("compare-page.points") : "%"}`;
}

/** Only what was told apart from chance is better or worse. */
export function changeClass(row: Judgement): "" | "more" | "less" {
  return row.verdict === "regression" || row.verdict === "possible" ? "more" : row.verdict === "improved" ? "less" : "";
}
