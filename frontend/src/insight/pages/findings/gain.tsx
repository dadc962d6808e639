/** What a finding is worth: low, expected and high, as a sentence and as a bar over the step. */

import { quantityText } from "../../../text/quantities";
import type { Finding, Gain } from "../../api/types";
import { named, t } from "../../shell/words";

export function worthText(finding: Pick<Finding, "gain" | "unpriced" | "at_stake_ns" | "confidence">): string {
  const { gain } = finding;
  if (gain) return gainText(gain, finding.confidence);
  const stake = finding.at_stake_ns === null ? "" : t("gain.at-stake", { time: quantityText(finding.at_stake_ns, "ns") });
  return [stake, finding.unpriced].filter(Boolean).join(" ");
}

export function gainText(gain: Gain, confidence: string): string {
  const params = {
    time: quantityText(Math.abs(gain.expected_ns), "ns"),
    share: quantityText(Math.abs(gain.expected_ratio), "ratio"),
    low: quantityText(gain.low_ns, "ns"),
    high: quantityText(gain.high_ns, "ns"),
    per: named("per", gain.per ?? "step"),
    confidence: named("confidence", confidence),
  };
  if (gain.expected_ns < 0) return t("gain.cost", params);
  if (gain.low_ns < 0) return t("gain.unsure", { ...params, longer: quantityText(-gain.low_ns, "ns") });
  return params.low === params.high ? t("gain.exact", params) : t("gain.range", params);
}

/** The step as a line, the gain as a part of it: certain up to low, possible up to high. */
export function GainBar({ gain }: { gain: Gain }) {
  const at = (ratio: number): string => `${Math.max(0, Math.min(100, 100 * ratio))}%`;
  if (gain.expected_ns <= 0) return null;
  const said = t("gain.bar", {
    time: quantityText(gain.expected_ns, "ns"),
    share: quantityText(gain.expected_ratio, "ratio"),
    low: quantityText(gain.low_ns, "ns"),
    high: quantityText(gain.high_ns, "ns"),
  });
  return (
    <div class="gain-bar" role="img" aria-label={said}>
      <span class="possible" style={{ width: at(gain.high_ratio) }} />
      <span class="certain" style={{ width: at(gain.low_ratio) }} />
      <span class="expected" style={{ left: at(gain.expected_ratio) }} />
    </div>
  );
}
