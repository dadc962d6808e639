/** A short table of rows that are there already. */

import type { ComponentChildren } from "preact";
import { t } from "../shell/words";

export interface Shown<T> {
  title: string;
  left?: boolean;
  text: (row: T) => ComponentChildren;
}

export function RowsTable<T>({ title, columns, rows }: { title: string; columns: readonly Shown<T>[]; rows: readonly T[] }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={t("table.region", { table: title })}>
      <table>
        <caption class="unseen">{title}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={column.left ? "left" : ""}>{column.title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, number) => (
            <tr key={number}>
              {columns.map((column) => (
                <td key={column.title} class={column.left ? "left wrap" : ""}>{column.text(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
