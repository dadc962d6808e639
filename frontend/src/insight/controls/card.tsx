/** A part of a page with a heading; its drawing and its table may be two tabs of the same figures. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

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

/** One of several, as pressed buttons. */
export function Choice<T extends string>({ label, choices, value, choose }: {
  label: string;
  choices: readonly (readonly [T, string])[];
  value: T;
  choose: (value: T) => void;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {choices.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => choose(one)}>
          {text}
        </button>
      ))}
    </div>
  );
}
