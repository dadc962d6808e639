/** One table of keys: what a page binds is what `?` shows. Off while typing. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WordKey } from "./words";

export interface Binding {
  /** As in `KeyboardEvent.key`, with `Ctrl+` before it; a blank parts the keys of a sequence: `g o`. */
  keys: readonly string[];
  says: WordKey;
  /** Heading in the help. */
  group: WordKey;
  act: (event: KeyboardEvent) => void;
  /** Also while a text is typed, as Escape. */
  whileTyping?: boolean;
}

const SEQUENCE_MS = 1500;

export const bindings = signal<readonly Binding[]>([]);
export const helpIsOpen = signal(false);

let begun = "";
let begunAt = 0;

export function bind(added: readonly Binding[]): () => void {
  bindings.value = [...bindings.peek(), ...added];
  return () => {
    bindings.value = bindings.peek().filter((one) => !added.includes(one));
  };
}

/** Binds keys while a component is shown; give the same array each time. */
export function useBindings(added: readonly Binding[]): void {
  useEffect(() => bind(added), [added]);
}

export function startKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || ["Shift", "Control", "Meta"].includes(event.key)) return;
    if (["Enter", " "].includes(event.key) && isControl(event.target)) return; // what has the focus is pressed
    const pressed = nameOf(event);
    const sequence = begun && event.timeStamp - begunAt < SEQUENCE_MS ? `${begun} ${pressed}` : "";
    begun = "";
    const typed = isTyping(event.target);
    const usable = bindings.peek().filter((one) => (one.whileTyping || !typed) && !(modal() && !one.whileTyping));
    // What was bound last goes first: a page before the shell.
    const newestFirst = [...usable].reverse();
    const found =
      newestFirst.find((one) => sequence !== "" && one.keys.includes(sequence)) ??
      newestFirst.find((one) => one.keys.includes(pressed));
    if (found) {
      event.preventDefault();
      found.act(event);
    } else if (!typed && usable.some((one) => one.keys.some((key) => key.startsWith(`${pressed} `)))) {
      begun = pressed;
      begunAt = event.timeStamp;
    }
  });
}

export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey">): string {
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key}`;
}

function modal(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("a[href], button, summary, input, select") !== null;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}
