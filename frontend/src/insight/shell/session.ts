/** Which runs there are and how far their reading is: asked again while one is read. */

import { computed, signal } from "@preact/signals";
import { ApiError, getJson } from "../api/client";
import { PAGES, chosenRun } from "./router";

export interface Run {
  id: string;
  name: string;
  state: "reading" | "ready" | "failed";
  progress: { done: number; total: number; text: string } | null;
  error: string | null;
}

export interface Session {
  version: string;
  languages: string[];
  runs: Run[];
  /** Whether a history of measurements was given. */
  history?: boolean;
}

const PAUSE_MS = 400;
const PAUSE_LOST_MS = 3000;

export const session = signal<Session | null>(null);
/** Why the server does not answer; null while it does. */
export const lost = signal<ApiError | null>(null);

export const currentRun = computed<Run | null>(() => {
  const runs = session.value?.runs ?? [];
  return runs.find((run) => run.id === chosenRun.value) ?? runs[0] ?? null;
});

/** Pages that show something: a comparison takes two runs, or a history. */
export const offeredPages = computed(() =>
  PAGES.filter((page) => page !== "compare" || (session.value?.runs.length ?? 0) > 1 || session.value?.history),
);

export async function followSession(): Promise<void> {
  let pause = PAUSE_MS;
  try {
    session.value = await getJson<Session>("session");
    lost.value = null;
    if (session.value.runs.every((run) => run.state !== "reading")) return;
  } catch (error) {
    const told = error instanceof ApiError ? error : new ApiError(0, "unreadable", "", "");
    lost.value = told;
    if (told.status === 401 || told.status === 403) return;
    pause = PAUSE_LOST_MS;
  }
  setTimeout(() => void followSession(), pause);
}
