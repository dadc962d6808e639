/** The document of a run, as `analyze --format json` writes it, in the reader's language. */

import { language } from "../shell/settings";
import { currentRun } from "../shell/session";
import { type Asked, useAsked } from "./asked";
import { runPath } from "./client";
import type { Document } from "./types";

export function useDocument(): Asked<Document> {
  const run = currentRun.value;
  const ready = run?.state === "ready" ? runPath(run.id, "document") : null;
  return useAsked<Document>(ready, { lang: language.value }, true);
}
