/** A range typed in two fields: what the wheel does on a chart, for keys. Either field may be left empty. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../shell/words";

export interface RangeFieldsProps {
  /** What the range is of, with its unit. */
  label: string;
  from: number | null;
  to: number | null;
  /** What the fields say while they are empty. */
  ends: readonly [number | undefined, number | undefined];
  /** How many of the values one of the unit is. */
  scale?: number;
  choose: (from: number | null, to: number | null) => void;
}

export function RangeFields({ label, from, to, ends, scale = 1, choose }: RangeFieldsProps) {
  const [typed, setTyped] = useState<readonly [string, string]>(["", ""]);
  useEffect(() => setTyped([shown(from, scale), shown(to, scale)]), [from, to]);
  const submit = (event: Event): void => {
    event.preventDefault();
    const [first, last] = [valueOf(typed[0], scale), valueOf(typed[1], scale)];
    choose(first === null ? null : Math.floor(first), last === null ? null : Math.ceil(last));
  };
  const field = (at: 0 | 1, name: string) => (
    <label class="field">
      <span>{name}</span>
      <input
        type="text" inputMode="decimal" size={9} value={typed[at]} placeholder={shown(ends[at] ?? null, scale)}
        onInput={(event) => setTyped(at === 0 ? [event.currentTarget.value, typed[1]] : [typed[0], event.currentTarget.value])}
      />
    </label>
  );
  return (
    <form class="fields range-fields" aria-label={label} onSubmit={submit}>
      <span class="soft">{label}</span>
      {field(0, t("range.from"))}
      {field(1, t("range.to"))}
      <button type="submit">{t("memory-moment.show")}</button>
    </form>
  );
}

function shown(value: number | null, scale: number): string {
  return value === null ? "" : String(Number((value / scale).toFixed(6)));
}

/** Null where the field is empty or holds no number. */
function valueOf(text: string, scale: number): number | null {
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? Math.max(0, value) * scale : null;
}
