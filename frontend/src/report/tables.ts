/** Tables that can be sorted by a column and searched; without a script they are as they were written. */

import { quantityOf } from "../text/quantities";

const SORT_FROM = 3;
const SEARCH_FROM = 12;

export function enliven(table: HTMLTableElement, texts: (name: string) => string): void {
  const body = table.tBodies[0];
  if (!body) return;
  const rows = [...body.rows].filter((row) => !row.classList.contains("sum"));
  if (rows.length >= SORT_FROM) addSorting(table, body, rows);
  if (rows.length >= SEARCH_FROM) addSearch(table, rows, texts("table.search"));
}

function addSorting(table: HTMLTableElement, body: HTMLTableSectionElement, rows: HTMLTableRowElement[]): void {
  const headers = [...(table.tHead?.rows[0]?.cells ?? [])];
  headers.forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const falling = header.getAttribute("aria-sort") !== "descending";
      for (const one of headers) one.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const sum = body.querySelector("tr.sum");
      for (const row of sorted(rows, column, falling)) body.insertBefore(row, sum);
    });
  });
}

function sorted(rows: HTMLTableRowElement[], column: number, falling: boolean): HTMLTableRowElement[] {
  const keyed = rows.map((row) => {
    const text = row.cells[column]?.textContent?.trim() ?? "";
    return { row, text, number: quantityOf(text) };
  });
  const numeric = keyed.some((one) => one.number !== null);
  keyed.sort((a, b) => {
    // What is not known stays last in either direction.
    if (numeric && (a.number === null || b.number === null)) return Number(a.number === null) - Number(b.number === null);
    const order = numeric ? (a.number ?? 0) - (b.number ?? 0) : a.text.localeCompare(b.text);
    return falling ? -order : order;
  });
  return keyed.map((one) => one.row);
}

function addSearch(table: HTMLTableElement, rows: HTMLTableRowElement[], text: string): void {
  const input = document.createElement("input");
  input.type = "search";
  input.className = "search";
  input.placeholder = text;
  input.setAttribute("aria-label", text);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const row of rows) row.hidden = wanted !== "" && !(row.textContent ?? "").toLowerCase().includes(wanted);
  });
  (table.closest(".scroll") ?? table).before(input);
}
