/** Parts of the document of a run, as `analyze --format json` writes it, in the reader's language; and how far it is. */

import { useEffect, useState } from "preact/hooks";
import { currentRun } from "../shell/session";
import { language } from "../shell/settings";
import { type Asked, useAsked } from "./asked";
import { getJson, runPath } from "./client";
import type { Document, DocumentProgress } from "./types";

const PAUSE_MS = 1000;

/** A page asks for what it shows: the whole document of a large job is megabytes. */
export function useParts<K extends keyof Document>(...names: readonly K[]): Asked<Pick<Document, K>> {
  const run = currentRun.value;
  const ready = run?.state === "ready" ? runPath(run.id, "document") : null;
  return useAsked<Pick<Document, K>>(ready, { lang: language.value, parts: names.join(",") }, true);
}

/** How far the document is, asked again while it is made; null before that is known. */
export function useProgress(): DocumentProgress | null {
  const run = currentRun.value?.id ?? "";
  const lang = language.value;
  const [progress, setProgress] = useState<DocumentProgress | null>(null);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const again = (): void => {
      if (stop.signal.aborted) return;
      timer = window.setTimeout(() => {
        // It is only told: what fails is told by the request for the document itself.
        getJson<DocumentProgress>(runPath(run, "document-progress"), { lang }, stop.signal).then(setProgress, () => null).then(again);
      }, PAUSE_MS);
    };
    again();
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [run, lang]);
  return progress;
}
