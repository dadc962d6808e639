/** What a component asks of the server: asked when its address changes, aborted when it is no longer wanted. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, type Query, apiUrl, getJson, wasAborted } from "./client";

const RETRY_MS = 3000;

export interface Asked<T> {
  /** The last answer, which stays while the next is on its way. */
  value: T | null;
  error: unknown;
  /** Whether `value` is not yet that of the address. */
  loading: boolean;
  again: () => void;
}

interface Answer {
  address: string;
  value: unknown;
  error: unknown;
}

/** Answers that do not change while the page is open, by address. */
const kept = new Map<string, unknown>();

/**
 * Asks for `path`; null asks for nothing.
 *
 * @param keep Whether the answer is kept for the next component that asks the same.
 */
export function useAsked<T>(path: string | null, query: Query = {}, keep = false): Asked<T> {
  const address = path === null ? "" : apiUrl(path, query);
  const [answer, setAnswer] = useState<Answer>({ address: "", value: null, error: null });
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((before) => before + 1), []);
  useEffect(() => {
    if (path === null) return undefined;
    if (kept.has(address)) {
      // It may have come since this was drawn: another component had asked for the same.
      setAnswer((before) => (before.address === address ? before : { address, value: kept.get(address), error: null }));
      return undefined;
    }
    const stop = new AbortController();
    let retry = 0;
    getJson<T>(path, query, stop.signal).then(
      (value) => {
        if (keep) kept.set(address, value);
        setAnswer({ address, value, error: null });
      },
      (error: unknown) => {
        if (wasAborted(error)) return;
        setAnswer((before) => ({ address, value: before.value, error }));
        // A tunnel comes back, a run becomes ready: the page then goes on by itself.
        if (error instanceof ApiError && (error.status === 0 || error.status === 503)) retry = window.setTimeout(again, RETRY_MS);
      },
    );
    return () => {
      clearTimeout(retry);
      stop.abort();
    };
  }, [address, turn]);
  if (kept.has(address)) return { value: kept.get(address) as T, error: null, loading: false, again };
  const mine = answer.address === address;
  return { value: answer.value as T | null, error: mine ? answer.error : null, loading: address !== "" && !mine, again };
}
