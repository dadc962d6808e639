/** A table of which only the rows on the screen are elements, for lists of any length. */

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

export interface Column<T> {
  key: string;
  says: string;
  /** Numbers stand to the right. */
  right?: boolean;
  cell: (row: T) => ComponentChildren;
  /** Sorts by this; without it the column cannot be sorted. */
  by?: (row: T) => number | string;
}

export interface RowsProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  sort?: { key: string; falling: boolean } | undefined;
  onSort?: (sort: { key: string; falling: boolean }) => void;
  chosen?: number;
  onChoose?: (row: T, at: number) => void;
}

const HEIGHT = 26;
const BESIDE = 10;

export function Rows<T>({ label, columns, rows, sort, onSort, chosen, onChoose }: RowsProps<T>) {
  const [top, setTop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const room = box.current?.clientHeight ?? 400;
  const first = Math.max(0, Math.floor(top / HEIGHT) - BESIDE);
  const shown = rows.slice(first, first + Math.ceil(room / HEIGHT) + 2 * BESIDE);
  const key = (event: KeyboardEvent, row: T, at: number): void => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      const next = box.current?.querySelector<HTMLElement>(`[data-row="${at + by}"]`);
      next?.focus();
    } else if ((event.key === "Enter" || event.key === " ") && onChoose) {
      event.preventDefault();
      onChoose(row, at);
    }
  };
  return (
    <div class="tl-scrolled" ref={box} onScroll={() => setTop(box.current?.scrollTop ?? 0)} tabIndex={rows.length > 0 && onChoose ? -1 : 0} role="region" aria-label={label}>
      <table class="tl-table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} class={column.right ? "" : "left"} scope="col" aria-sort={sort?.key === column.key ? (sort.falling ? "descending" : "ascending") : undefined}>
                {column.by && onSort ? (
                  <button type="button" class="tl-sort" onClick={() => onSort({ key: column.key, falling: sort?.key === column.key ? !sort.falling : column.right === true })}>
                    {column.says}
                  </button>
                ) : (
                  column.says
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <tr aria-hidden="true" class="tl-gap"><td colSpan={columns.length} style={{ height: `${first * HEIGHT}px` }} /></tr>}
          {shown.map((row, number) => {
            const at = first + number;
            return (
              <tr
                key={at}
                data-row={at}
                aria-rowindex={at + 2}
                class={onChoose ? "can" : ""}
                aria-current={onChoose && at === chosen ? "true" : undefined}
                tabIndex={onChoose ? (at === (chosen ?? -1) || (at === first && (chosen === undefined || chosen < first || chosen >= first + shown.length)) ? 0 : -1) : undefined}
                onClick={onChoose && (() => onChoose(row, at))}
                onKeyDown={onChoose && ((event) => key(event, row, at))}
              >
                {columns.map((column) => <td key={column.key} class={column.right ? "" : "left"}>{column.cell(row)}</td>)}
              </tr>
            );
          })}
          {first + shown.length < rows.length && (
            <tr aria-hidden="true" class="tl-gap"><td colSpan={columns.length} style={{ height: `${(rows.length - first - shown.length) * HEIGHT}px` }} /></tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

/** Rows in the order that was asked for; equal ones stay as they were. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: { key: string; falling: boolean } | undefined): T[] {
  const by = columns.find((column) => column.key === sort?.key)?.by;
  if (!by || !sort) return [...rows];
  const sign = sort.falling ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  });
}
