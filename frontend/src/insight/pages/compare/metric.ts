/** Names of metrics, as comparisons and trends say them. */

import { isWord, t } from "../../shell/words";

export function metricText(metric: string): string {
  const key = `compare.metric.${metric.replaceAll("_", "-")}`;
  return isWord(key) ? t(key) : metric.replaceAll("_", " ");
}
