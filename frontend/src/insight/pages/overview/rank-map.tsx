/** The ranks by their places in parallel groups, coloured by what their steps are made of; a rank leads to its group's calls. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { runPath } from "../../api/client";
import type { TableAnswer } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Choice } from "../../controls/card";
import { columnText } from "../../controls/cells";
import { rankText } from "../../controls/rank-select";
import { type Row, ServerTable, rowOf } from "../../controls/server-table";
import { change, go, oneOf, parameters } from "../../shell/router";
import { t } from "../../shell/words";
import { AXES, type Axis, type Grid, ROW_PX, gridOf, next, rowsInSight, shadeOf, shadeScale } from "./rank-places";

/** Compute first: ranks that wait for each other have steps of one length. */
const METRICS = ["compute_ns", "exposed_comm_ns", "free_ns", "window_ns"] as const;
type Metric = (typeof METRICS)[number];

/** Rows that the server gives at once; two answers hold the ranks of large jobs. */
const MOST = 1000;

export function RankMapCard({ run }: { run: string }) {
  const { map, groups } = parameters({ map: oneOf<Metric>(...METRICS), groups: oneOf<Axis>(...AXES) });
  const { value } = useAsked<TableAnswer>(runPath(run, "tables/rank_map"), { count: MOST }, true);
  const more = useAsked<TableAnswer>((value?.row_count ?? 0) > MOST ? runPath(run, "tables/rank_map") : null, { count: MOST, from: MOST }, true).value;
  const rows = useMemo(() => [...(value?.rows ?? []), ...(more?.rows ?? [])].map((values) => rowOf(value?.columns ?? [], values)), [value, more]);
  const grid = useMemo(() => gridOf(rows.map((row) => ({ rank: numberOf(row["rank"]), places: placesOf(row) }))), [rows]);
  if (value?.state === "collected" && rows.length < 2) return null;
  const kinds = AXES.filter((axis) => rows.some((row) => row[`${axis}_group`] !== null));
  const kind = kinds.includes(groups) ? groups : (kinds[0] ?? null);
  return (
    <Card title={t("map.title")} note={t("map.note")}>
      {value && value.state !== "collected" && <Absent why={value} />}
      {rows.length > 0 && (
        <>
          <Choice label={t("map.metric")} choices={METRICS.map((one) => [one, columnText(one)] as const)} value={map} choose={(one) => change({ map: one })} />
          {kinds.length > 1 && <Choice label={t("map.groups")} choices={kinds.map((one) => [one, t("map.groups-of", { kind: one.toUpperCase() })] as const)} value={kind ?? kinds[0] ?? "tp"} choose={(one) => change({ groups: one })} />}
          {grid.reason !== null && <p class="absent">{t(`map.${grid.reason}`)}</p>}
          <Cells rows={rows} grid={grid} metric={map} kind={kind} />
          {(value?.row_count ?? 0) > rows.length && <p class="note">{t("map.first", { shown: rows.length, count: value?.row_count ?? 0 })}</p>}
          <details>
            <summary>{t("map.table")}</summary>
            <ServerTable run={run} name="rank_map" title={t("map.title")} rows={20} />
          </details>
        </>
      )}
    </Card>
  );
}

function Cells({ rows, grid, metric, kind }: { rows: readonly Row[]; grid: Grid; metric: Metric; kind: Axis | null }) {
  const [seen, setSeen] = useState<number | null>(null);
  const [stop, setStop] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const values = rows.map((row) => numberOf(row[metric])).filter((one) => one !== null);
  const scale = shadeScale(values);
  const groupOf = (at: number | null): unknown => (kind === null || at === null ? null : (rows[at]?.[`${kind}_group`] ?? null));
  const group = groupOf(seen);
  const across = grid.axes.at(-1);
  const [view, setView] = useState({ top: 0, height: 0 });
  const wanted = useRef(false);
  const [first, last] = rowsInSight(grid.rows.length, view.top, view.height);
  const drawn = grid.rows.slice(first, last);
  // Where the last stop is out of sight, the first rank that is drawn takes its place.
  const stopDrawn = drawn.some((line) => line.cells.includes(stop)) ? stop : (drawn.flatMap((line) => line.cells).find((at) => at !== null) ?? stop);
  const looked = (): void => { if (box.current) setView({ top: box.current.scrollTop, height: box.current.clientHeight }); };
  useEffect(looked, [grid]);
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const cell = box.current?.querySelector<HTMLElement>(`[data-at="${stop}"]`);
    if (!cell) return;
    wanted.current = false;
    cell.focus();
  });
  const moved = (event: KeyboardEvent): void => {
    const to = next(grid, stopDrawn, event.key);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    wanted.current = true;
    setStop(to);
    const row = grid.rows.findIndex((one) => one.cells.includes(to));
    if (box.current && (row < first || row >= last)) box.current.scrollTop = row * ROW_PX;
    looked();
  };
  return (
    <>
      <div class="scroll rank-map" ref={box} onKeyDown={moved} onScroll={looked} role="group" aria-label={`${t("map.title")}: ${columnText(metric)}`} onMouseLeave={() => setSeen(null)}>
        {across && (
          <div class="rank-row head" aria-hidden="true">
            <span class="where" />
            {grid.columns.map((column, at) => <span key={at} class="column">{across.toUpperCase()} {column}</span>)}
          </div>
        )}
        {first > 0 && <div style={{ height: `${first * ROW_PX}px` }} />}
        {drawn.map((line, number) => (
          <div key={first + number} class="rank-row">
            {across && <span class="where">{line.label.map(([axis, place]) => `${axis.toUpperCase()} ${place}`).join(" · ")}</span>}
            {line.cells.map((at, column) => {
              const row = at === null ? undefined : rows[at];
              if (at === null || !row) return <span key={column} class="rank-cell none" />;
              const much = numberOf(row[metric]);
              const text = much === null ? "-" : quantityText(much, "ns");
              return (
                <button
                  key={column}
                  type="button"
                  data-at={at}
                  tabIndex={at === stopDrawn ? 0 : -1}
                  class={`rank-cell${group !== null && groupOf(at) === group ? " together" : ""}${much === null ? " none" : ""}`}
                  style={much === null ? {} : shadeOf(much, scale)}
                  title={told(row, metric, text)}
                  onFocus={() => { setSeen(at); setStop(at); }}
                  onMouseEnter={() => setSeen(at)}
                  onClick={() => go("communication", { only: kind === null ? null : (row[`${kind}_group`] as string | null) })}
                >
                  <b><span class="unseen">rank </span>{row["rank"] ?? "?"}</b>
                  <small><span class="unseen">{columnText(metric)} </span>{text}</small>
                </button>
              );
            })}
          </div>
        ))}
        {last < grid.rows.length && <div style={{ height: `${(grid.rows.length - last) * ROW_PX}px` }} />}
      </div>
      {values.length > 0 && (
        <p class="rank-scale soft">
          {quantityText(scale[0], "ns")} <span class="ramp" aria-hidden="true" /> {quantityText(scale[1], "ns")}
        </p>
      )}
      <p class="soft" role="status">
        {group !== null && kind !== null ? t("map.group-of", { kind: kind.toUpperCase(), group: String(group), ranks: rows.filter((_, at) => groupOf(at) === group).map((row) => String(row["rank"] ?? "?")).join(", ") }) : t("map.hint")}
      </p>
    </>
  );
}

function told(row: Row, metric: Metric, text: string): string {
  const places = AXES.filter((axis) => row[`${axis}_place`] !== null).map((axis) => `${axis.toUpperCase()} ${row[`${axis}_place`]}`);
  return [rankText(numberOf(row["rank"])), ...places, `${columnText(metric)} ${text}`].join(", ");
}

function placesOf(row: Row): Record<Axis, number | null> {
  return Object.fromEntries(AXES.map((axis) => [axis, numberOf(row[`${axis}_place`])])) as Record<Axis, number | null>;
}

function numberOf(value: unknown): number | null {
  return typeof value === "number" ? value : null;
}
