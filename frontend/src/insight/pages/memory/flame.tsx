/** Nested parts as an icicle: width is bytes, depth is the stack. Arrow keys walk it, Enter makes a part the whole. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import type { MemoryPart } from "../../api/types";
import { t } from "../../shell/words";
import { neighbour, shadeOf, shortName } from "./nested";

const ROW_PX = 22;
const LEAST_SHARE = 0.002;
const NAMED_SHARE = 0.04;

export function Flame({ parts, whole }: { parts: readonly MemoryPart[]; whole: number }) {
  const [root, setRoot] = useState<MemoryPart | null>(null);
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => { setRoot(null); setAt(0); }, [parts]);
  const [begin, width, level] = root ? [root.offset_bytes, root.held_bytes, root.depth] : [0, whole, 0];
  const shown = useMemo(() => parts.filter((part) => part.depth >= level && part.offset_bytes >= begin && part.offset_bytes + part.held_bytes <= begin + width && part.held_bytes >= LEAST_SHARE * width), [parts, begin, width, level]);
  if (!shown.length || !width) return <p class="soft">{t("table.empty")}</p>;
  const depth = Math.max(...shown.map((part) => part.depth)) - level + 1;
  const current = Math.min(at, shown.length - 1);
  const choose = (part: MemoryPart): void => { setRoot(part === root ? null : part); setAt(0); };
  const step = (event: KeyboardEvent): void => {
    const next = neighbour(shown, current, event.key);
    if (event.key === "Escape" && root) { setRoot(null); setAt(0); }
    else if (next === current) return;
    else { setAt(next); box.current?.querySelectorAll("button")[next]?.focus(); }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="flame-scroll">
      {root && <button type="button" onClick={() => { setRoot(null); setAt(0); }}>{t("memory-moment.all")}</button>}
      <div ref={box} class="flame" role="group" aria-label={t("memory-moment.stacks-help")} style={{ height: `${depth * ROW_PX}px` }} onKeyDown={step}>
        {shown.map((part, number) => {
          const share = part.held_bytes / width;
          const name = part.name || t("memory-moment.unknown");
          const figures = `${quantityText(part.held_bytes, "bytes")}, ${quantityText(part.held_bytes / whole, "ratio")}`;
          return (
            <button
              key={`${part.depth}/${part.offset_bytes}`} type="button" tabIndex={number === current ? 0 : -1} title={`${name}, ${figures}`} aria-label={`${shortName(name)}, ${figures}`}
              class={`shade${shadeOf(part.name)}`} onClick={() => choose(part)} onFocus={() => setAt(number)}
              style={{ left: `${(100 * (part.offset_bytes - begin)) / width}%`, width: `${100 * share}%`, top: `${(part.depth - level) * ROW_PX}px` }}
            >
              {share >= NAMED_SHARE ? shortName(name) : ""}
            </button>
          );
        })}
      </div>
    </div>
  );
}
