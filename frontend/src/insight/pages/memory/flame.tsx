/** Live bytes by allocation stack, nested. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import type { MemoryPart } from "../../api/types";
import { Icicle } from "../../controls/icicle";
import type { NestedPart } from "../../controls/nested";
import { t } from "../../shell/words";

export function Flame({ parts, whole }: { parts: readonly MemoryPart[]; whole: number }) {
  const [root, setRoot] = useState<NestedPart | null>(null);
  useEffect(() => setRoot(null), [parts]);
  const nested = useMemo(() => parts.map((part) => ({ name: part.name, depth: part.depth, offset: part.offset_bytes, size: part.held_bytes })), [parts]);
  return (
    <>
      {root && <button type="button" onClick={() => setRoot(null)}>{t("memory-moment.all")}</button>}
      <Icicle
        help={t("memory-moment.stacks-help")} parts={nested} shown={root ?? { offset: 0, size: whole, depth: 0 }} unnamed={t("memory-moment.unknown")}
        figures={(part) => `${quantityText(part.size, "bytes")}, ${quantityText(part.size / whole, "ratio")}`}
        choose={(part) => setRoot(part === root ? null : part)} leave={root ? () => setRoot(null) : undefined}
      />
    </>
  );
}
