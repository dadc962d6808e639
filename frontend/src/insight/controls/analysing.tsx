/** The document of a run is made: which of its parts, and how many are done. */

import { useProgress } from "../api/document";
import { named, t } from "../shell/words";
import { Pending } from "./pending";

const RULE = /^R-/;

export function Analysing() {
  const progress = useProgress();
  const known = progress !== null && progress.total > 0 ? progress : null;
  const what = known === null ? "" : RULE.test(known.part) ? t("analysing.rule", { rule: known.part }) : named("analysing", known.part);
  const note = known === null ? "" : t("analysing.part", { done: known.done, total: known.total, part: what });
  return <Pending text={t("session.analysing")} part={known} note={note} />;
}
