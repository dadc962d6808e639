/** A part of a page with a heading; its drawing and its table may be two tabs of the same figures. */

import type { ComponentChildren } from "preact";
import { useId, useRef, useState } from "preact/hooks";

export function Card({ title, note, tools, children, wide = true }: {
  title: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const id = useId();
  return (
    <section class={`card${wide ? "" : " narrow"}`} aria-labelledby={id}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {tools && <div class="card-tools">{tools}</div>}
      </div>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

export interface Part {
  kind: string;
  label: string;
}

export function Legend({ parts }: { parts: readonly Part[] }) {
  return (
    <ul class="legend">
      {parts.map((part) => (
        <li key={part.kind}>
          <span class={`swatch ${part.kind}`} />
          {part.label}
        </li>
      ))}
    </ul>
  );
}

/** One of several, as pressed buttons: one stop of the tab key, the arrow keys go from one to the next. */
export function Choice<T extends string>({ label, choices, value, choose }: {
  label: string;
  choices: readonly (readonly [T, string])[];
  value: T;
  choose: (value: T) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [looked, setLooked] = useState<T | null>(null);
  const offered = choices.map(([one]) => one);
  // While the reader is here the focused one is the stop, else the chosen one.
  const stop = [looked, value].find((one) => one !== null && offered.includes(one)) ?? offered[0];
  const moved = (event: KeyboardEvent): void => {
    const buttons = [...(box.current?.querySelectorAll("button") ?? [])];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    buttons.at(to % buttons.length)?.focus();
  };
  return (
    <div ref={box} class="choice" role="toolbar" aria-label={label} onKeyDown={moved} onFocusOut={() => setLooked(null)}>
      {choices.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} tabIndex={one === stop ? 0 : -1} onFocus={() => setLooked(one)} onClick={() => choose(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}
