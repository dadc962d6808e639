/** A table of the server: sorted, searched and paged there; rows lead to the timeline; the whole of it is a CSV file. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useAsked } from "../api/asked";
import { type Query, apiUrl, runPath } from "../api/client";
import type { Column, TableAnswer, Value } from "../api/types";
import { Notice } from "../shell/notice";
import { isWord, t } from "../shell/words";
import { Absent } from "./absent";
import { FUNCTIONS, PATHS, SENTENCES, absentText, cellText, columnText, differenceText, functionText, isNumeric, pathEnd, repeatsKind, wordText } from "./cells";
import { TimelineLink } from "./links";
import { Pending } from "./pending";

const PAGE_ROWS = 25;
const SEARCH_PAUSE_MS = 250;
const NEAR = "400px";

/** Flags that tell of something bad; the others are as good set as not. */
const BAD = new Set(["is_straggler", "is_leak", "is_last"]);

export interface ServerTableProps {
  run: string;
  name: string;
  title: string;
  query?: Query;
  /** Columns that are not shown. */
  without?: readonly string[];
  rows?: number;
  /** A row that leads to more of the page. */
  pick?: { label: string; act: (row: Row) => void; chosen?: (row: Row) => boolean; fits?: (row: Row) => boolean } | undefined;
  searchable?: boolean;
  children?: ComponentChildren;
}

/** A row by the names of its columns. */
export type Row = Readonly<Record<string, Value>>;

export function rowOf(columns: readonly Column[], values: readonly Value[]): Row {
  return Object.fromEntries(columns.map((column, at) => [column.name, values[at] ?? null]));
}

/** A table is asked for when the reader comes near it: behind it may be seconds of work. */
export function ServerTable(props: ServerTableProps) {
  const place = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (!place.current) return undefined;
    const watch = new IntersectionObserver((seen) => { if (seen.some((one) => one.isIntersecting)) setNear(true); }, { rootMargin: NEAR });
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  return near ? <AskedTable {...props} /> : <div ref={place} class="table-place" />;
}

function AskedTable({ run, name, title, query = {}, without = [], rows = PAGE_ROWS, pick, searchable = true, children }: ServerTableProps) {
  const [sort, setSort] = useState<{ column: string; descending: boolean } | null>(null);
  const [from, setFrom] = useState(0);
  const [typed, setTyped] = useState("");
  const [contains, setContains] = useState("");
  const id = useId();
  const narrowed = JSON.stringify([name, query]);
  useEffect(() => setFrom(0), [narrowed, contains, sort]);
  useEffect(() => setSort(null), [name, "against" in query]);
  useEffect(() => {
    const timer = setTimeout(() => setContains(typed.trim()), SEARCH_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  const asked: Query = { ...query, contains, ...(sort ? { sort: sort.column, descending: sort.descending } : {}) };
  const path = runPath(run, `tables/${name}`);
  const { value, error, loading, again } = useAsked<TableAnswer>(path, { ...asked, from: from || null, count: rows });
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Pending text={t("table.loading")} />;
  if (value.state !== "collected") return <Absent why={value} />;
  if (value.row_count === 0 && !contains && !typed) return <p class="soft">{emptyText(name)}</p>;
  const shown = value.columns.map((column, at) => ({ ...column, at })).filter((column) => column.unit !== "id" && !without.includes(column.name) && !isEmpty(value, column.name));
  const fits = (values: readonly Value[]): boolean => pick !== undefined && (pick.fits?.(rowOf(value.columns, values)) ?? true);
  const picks = value.rows.some(fits);
  const turn = (column: Column): void => {
    const falling = isNumeric(column.unit);
    setSort((before) => (before?.column === column.name ? (before.descending === falling ? { column: column.name, descending: !falling } : null) : { column: column.name, descending: falling }));
  };
  return (
    <div class={`table-box${loading ? " loading" : ""}`} aria-busy={loading}>
      <div class="table-bar">
        {searchable && (
          <input type="search" value={typed} placeholder={t("table.search")} aria-label={t("table.search-in", { table: title })} onInput={(event) => setTyped(event.currentTarget.value)} />
        )}
        {children}
        <span class="soft" role="status">{t("table.rows", { count: value.row_count })}</span>
        <a class="download" href={apiUrl(path, { ...asked, format: "csv" })} download={`${name}.csv`}>CSV</a>
      </div>
      <div class="scroll" tabIndex={0} role="region" aria-label={t("table.region", { table: title })}>
        <table>
          <caption class="unseen" id={id}>{title}</caption>
          <thead>
            <tr>
              {shown.map((column) => (
                <th key={column.name} scope="col" class={isRight(column) ? "" : "left"} aria-sort={sort?.column === column.name ? (sort.descending ? "descending" : "ascending") : undefined}>
                  <button type="button" class="sort" onClick={() => turn(column)}>{columnText(column.name, name)}</button>
                </th>
              ))}
              {pick && picks && <th scope="col"><span class="unseen">{pick.label}</span></th>}
              {value.slices && <th scope="col"><span class="unseen">{t("link.timeline")}</span></th>}
            </tr>
          </thead>
          <tbody>
            {value.rows.map((values, number) => {
              const row = rowOf(value.columns, values);
              const chosen = pick?.chosen?.(row) ?? false;
              return (
                <tr key={number} class={chosen ? "chosen" : ""}>
                  {shown.map((column) => <Cell key={column.name} table={name} column={column} value={values[column.at]} row={row} />)}
                  {pick && picks && <td class="act">{fits(values) && <button type="button" aria-pressed={chosen} onClick={() => pick.act(row)}>{pick.label}</button>}</td>}
                  {value.slices && <td class="act"><RowLink answer={value} row={row} name={firstText(row, shown)} /></td>}
                </tr>
              );
            })}
          </tbody>
        </table>
        {value.rows.length === 0 && <p class="soft empty">{t("table.no-match")}</p>}
      </div>
      {value.looked_into && <p class="note looked-into">{t("table.looked-into", { shown: value.looked_into.profiles, count: value.looked_into.of })}</p>}
      {value.row_count > rows && <Pages from={from} rows={rows} count={value.row_count} go={setFrom} title={title} />}
    </div>
  );
}

const LONG = 44;

function Cell({ table, column, value, row }: { table: string; column: Column; value: Value | undefined; row: Row }) {
  if (table === "damage" && column.name === "example" && repeatsKind(row)) return <td class="left">-</td>;
  const word = value === null || value === "" ? absentText(table, column.name, row) : wordText(column.name, value);
  const differs = column.name.startsWith("more_");
  const text = word ?? (differs ? differenceText(value, column.unit) : cellText(value, column.unit));
  const long = column.unit === "text" && text.length > LONG;
  if (long && FUNCTIONS.has(column.name)) return <td class="left long" title={text}><span>{functionText(text)}</span></td>;
  const kind = differs && typeof value === "number" && value !== 0 ? (value > 0 ? " more" : " less") : "";
  if (column.unit === "ratio" && column.name === "share_ratio" && typeof value === "number") {
    return <td class="share"><span class="share-bar" aria-hidden="true"><span style={{ width: `${Math.min(100, Math.max(0, 100 * value))}%` }} /></span>{text}</td>;
  }
  if (column.unit === "flag") return <td class={`left flag${value === true && BAD.has(column.name) ? " on" : ""}`}>{text}</td>;
  if (long && (SENTENCES.has(column.name) || word !== null)) return <td class="left wrap">{text}</td>;
  const between = PATHS.get(column.name);
  if (long && between !== undefined) return <td class="left" title={text}>{pathEnd(text, LONG, between)}</td>;
  return <td class={`${isRight(column) ? "" : "left"}${long ? " long" : ""}${kind}`} title={long ? text : undefined}>{long ? <span>{text}</span> : text}</td>;
}

function RowLink({ answer, row, name }: { answer: TableAnswer; row: Row; name: string }) {
  if (!answer.slices) return null;
  const profile = row[answer.slices.profile];
  const key = row[answer.slices.key];
  if (typeof profile !== "number" || (typeof key !== "number" && typeof key !== "string")) return null;
  return (
    <TimelineLink to={{ table: answer.slices.table, profile, key }} label={t("link.timeline-of", { name })}>
      <span aria-hidden="true">{"\u2197"}</span>
    </TimelineLink>
  );
}

function Pages({ from, rows, count, go, title }: { from: number; rows: number; count: number; go: (from: number) => void; title: string }) {
  const last = Math.floor((count - 1) / rows) * rows;
  return (
    <nav class="pages" aria-label={t("table.pages", { table: title })}>
      <button type="button" disabled={from === 0} onClick={() => go(0)} aria-label={t("table.first")}>{"\u21e4"}</button>
      <button type="button" disabled={from === 0} onClick={() => go(Math.max(0, from - rows))} aria-label={t("table.previous")}>{"\u2190"}</button>
      <span class="soft">{t("table.shown", { from: from + 1, to: Math.min(count, from + rows), count })}</span>
      <button type="button" disabled={from >= last} onClick={() => go(from + rows)} aria-label={t("table.next")}>{"\u2192"}</button>
      <button type="button" disabled={from >= last} onClick={() => go(last)} aria-label={t("table.last")}>{"\u21e5"}</button>
    </nav>
  );
}

/** Why a table that was collected holds nothing, where that can be said. */
function emptyText(name: string): string {
  const key = `empty.${name.replaceAll("_", "-")}`;
  return isWord(key) ? t(key) : t("table.empty");
}

/** Names made of digits stand on the left, as names do. */
function isRight(column: Column): boolean {
  return isNumeric(column.unit) && !["rank", "step", "step_id", "src_rank", "dst_rank", "last_rank", "sequence"].includes(column.name);
}

/** Columns in which no row of the page holds anything tell nothing. */
function isEmpty(answer: TableAnswer, name: string): boolean {
  const at = answer.columns.findIndex((column) => column.name === name);
  return answer.rows.length > 0 && answer.rows.every((row) => row[at] === null || row[at] === "");
}

function firstText(row: Row, shown: readonly Column[]): string {
  const column = shown.find((one) => one.unit === "text" && typeof row[one.name] === "string") ?? shown[0];
  return column ? String(row[column.name] ?? "") : "";
}
