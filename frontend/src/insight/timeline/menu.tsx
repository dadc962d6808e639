/** A button that opens a small box below it; Escape and a click elsewhere close it. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Menu({ says, mark, children }: { says: string; mark?: boolean; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const away = (event: Event): void => {
      if (box.current?.open && event.target instanceof Node && !box.current.contains(event.target)) box.current.open = false;
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !box.current?.open) return;
    event.preventDefault();
    box.current.open = false;
    box.current.querySelector("summary")?.focus();
  };
  return (
    <details class="tl-menu" ref={box} onKeyDown={escape}>
      <summary class={mark ? "marked" : ""}>{says}</summary>
      <div class="tl-menu-box">{children}</div>
    </details>
  );
}
