/** Nested parts as an icicle: width is their size, depth is nesting. Arrow keys walk it, Enter chooses a part, Escape leaves. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../shell/words";
import { type NestedPart, neighbour, shadeOf, shortName } from "./nested";

const ROW_PX = 22;
const LEAST_SHARE = 0.002;
const NAMED_SHARE = 0.04;
const MARKED_SHARE = 0.09;

export interface IcicleProps<T extends NestedPart> {
  /** What is read aloud of all of it, with its keys. */
  help: string;
  parts: readonly T[];
  /** What lies across the whole width; outer parts are not drawn. */
  shown: { offset: number; size: number; depth: number };
  /** What a part without a name is called. */
  unnamed: string;
  figures: (part: T) => string;
  choose: (part: T) => void;
  /** Absent where the whole is shown. */
  leave?: (() => void) | undefined;
  /** Parts that a search found; the others are paler. Null where nothing is searched. */
  found?: ((part: T) => boolean) | null;
  /** What wide parts say beside their name. */
  mark?: (part: T) => string;
  /** Colours in the place of the shade by name. */
  paint?: (part: T) => { background: string; color: string };
}

export function Icicle<T extends NestedPart>({ help, parts, shown, unnamed, figures, choose, leave, found = null, mark, paint }: IcicleProps<T>) {
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const { offset, size, depth } = shown;
  useEffect(() => setAt(0), [parts, offset, size, depth]);
  const drawn = useMemo(
    () => parts.filter((part) => part.depth >= depth && part.offset >= offset && part.offset + part.size <= offset + size * (1 + 1e-9) && part.size >= LEAST_SHARE * size),
    [parts, offset, size, depth],
  );
  if (!drawn.length || !size) return <p class="soft">{t("table.empty")}</p>;
  const deepest = drawn.reduce((most, part) => Math.max(most, part.depth), 0) - depth + 1;
  const current = Math.min(at, drawn.length - 1);
  const step = (event: KeyboardEvent): void => {
    const next = neighbour(drawn, current, event.key);
    if (event.key === "Escape" && leave) leave();
    else if (next === current) return;
    else {
      setAt(next);
      box.current?.querySelectorAll("button")[next]?.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="flame-scroll">
      <div ref={box} class="flame" role="group" aria-label={help} style={{ height: `${deepest * ROW_PX}px` }} onKeyDown={step}>
        {drawn.map((part, number) => {
          const share = part.size / size;
          const name = part.name || unnamed;
          const said = figures(part);
          const marked = mark ? ` ${mark(part)}` : "";
          const isFound = found?.(part);
          return (
            <button
              key={`${part.depth}/${part.offset}/${part.name}`} type="button" tabIndex={number === current ? 0 : -1} title={`${name}${marked}, ${said}`} aria-label={`${shortName(name)}${marked}, ${said}`}
              class={`${paint ? "" : `shade${shadeOf(part.name)}`}${isFound === undefined ? "" : isFound ? " found" : " pale"}`} onClick={() => choose(part)} onFocus={() => setAt(number)}
              style={{ left: `${(100 * (part.offset - offset)) / size}%`, width: `${100 * share}%`, top: `${(part.depth - depth) * ROW_PX}px`, ...paint?.(part) }}
            >
              {share >= NAMED_SHARE ? shortName(name) : ""}
              {marked && share >= MARKED_SHARE && <b>{marked}</b>}
            </button>
          );
        })}
      </div>
    </div>
  );
}
