/** Kernels against the roofline: operations per byte across, operations per second up, both logarithmic. */

import { useMemo, useRef, useState } from "preact/hooks";
import { useAsked } from "../../api/asked";
import { type Query, runPath } from "../../api/client";
import type { TableAnswer } from "../../api/types";
import { cellText, columnText } from "../../controls/cells";
import { type Row, rowOf } from "../../controls/server-table";
import { href } from "../../shell/router";
import { named, t } from "../../shell/words";
import { type Roof, type Scale, corners, decades, place } from "./roofline-scale";

const MOST = 400;
const [WIDTH, HEIGHT] = [960, 400];
const [LEFT, RIGHT, TOP, BOTTOM] = [96, 40, 14, 46];
const SHAPES = { compute: "circle", memory: "square", latency: "triangle", mixed: "diamond", unknown: "cross" } as const;
type Bound = keyof typeof SHAPES;

interface Point {
  row: Row;
  intensity: number;
  speed: number;
  bound: Bound;
}

export function Roofline({ run, query }: { run: string; query: Query }) {
  const { value } = useAsked<TableAnswer>(runPath(run, "tables/roofline"), { ...query, count: MOST });
  const rows = useMemo(() => (value?.state === "collected" ? value.rows.map((values) => rowOf(value.columns, values)) : []), [value]);
  const points = useMemo(() => rows.flatMap(pointOf), [rows]);
  const [at, setAt] = useState(0);
  const drawing = useRef<SVGSVGElement>(null);
  const current = Math.min(at, points.length - 1);
  if (!rows.length) return null;
  if (!points.length) return <p class="absent">{t("roofline.no-flops")}</p>;
  const roofs = roofsOf(points);
  const across = decades([...points.map((one) => one.intensity), ...roofs.map((one) => one.ridge)]);
  const up = decades([...points.map((one) => one.speed), ...roofs.map((one) => one.peak)]);
  const moved = (event: KeyboardEvent): void => {
    const to = neighbourOf(points, current, event.key);
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    setAt(to);
    drawing.current?.querySelectorAll<SVGAElement>("a")[to]?.focus();
  };
  const bounds = (Object.keys(SHAPES) as Bound[]).filter((bound) => points.some((one) => one.bound === bound));
  return (
    <figure class="roofline">
      <ul class="legend">
        {bounds.map((bound) => (
          <li key={bound}><svg class={`bound ${bound}`} width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><Shape bound={bound} size={5} /></svg>{bound === "unknown" ? t("roofline.unknown") : named("word", bound)}</li>
        ))}
      </ul>
      {roofs.length === 0 && <p class="note">{t("roofline.no-roof")}</p>}
      <svg ref={drawing} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={`${t("roofline.title")}. ${t("roofline.keys")}`} onKeyDown={moved}>
        <Axes across={across} up={up} />
        {roofs.map((roof) => (
          <g key={`${roof.peak} ${roof.ridge}`} class="roof">
            <polyline points={corners(roof, across).map(([x, y]) => `${xOf(x, across)},${yOf(y, up)}`).join(" ")} />
            <text x={WIDTH - RIGHT - 4} y={yOf(roof.peak, up) + 14} text-anchor="end">{cellText(roof.peak, "flops_per_s")}</text>
          </g>
        ))}
        {points.map((point, number) => (
          <a key={number} tabindex={number === current ? 0 : -1} onFocus={() => setAt(number)} href={href("operators", { tab: "kernels", type: String(point.row["op_type"] ?? ""), shapes: typeof point.row["input_shapes"] === "string" ? point.row["input_shapes"] : null })} aria-label={told(point)}>
            <title>{told(point)}</title>
            <g class={`bound ${point.bound}`} transform={`translate(${xOf(point.intensity, across)},${yOf(point.speed, up)})`}>
              <Shape bound={point.bound} size={4 + 10 * Math.sqrt(Number(point.row["share_ratio"] ?? 0))} />
            </g>
          </a>
        ))}
      </svg>
      <figcaption class="note">{t("roofline.shown", { shown: points.length, count: value?.row_count ?? rows.length })}</figcaption>
    </figure>
  );
}

/** The point that an arrow key leads to: the next by operations per byte to the sides, by speed up and down. */
function neighbourOf(points: readonly Point[], from: number, key: string): number | null {
  const way = { ArrowRight: ["intensity", 1], ArrowLeft: ["intensity", -1], ArrowUp: ["speed", 1], ArrowDown: ["speed", -1] }[key] as [keyof Pick<Point, "intensity" | "speed">, number] | undefined;
  if (!way) return null;
  const [by, step] = way;
  const order = points.map((_, at) => at).sort((one, other) => (points[one]?.[by] ?? 0) - (points[other]?.[by] ?? 0) || one - other);
  return order[order.indexOf(from) + step] ?? null;
}

function pointOf(row: Row): Point[] {
  const [intensity, speed] = [row["flops_per_byte"], row["flops_per_s"]];
  if (typeof intensity !== "number" || typeof speed !== "number" || intensity <= 0 || speed <= 0) return [];
  const bound = row["bound"];
  return [{ row, intensity, speed, bound: typeof bound === "string" && bound in SHAPES ? (bound as Bound) : "unknown" }];
}

/** The different roofs of the chips and data types that the points ran with. */
function roofsOf(points: readonly Point[]): Roof[] {
  const found = new Map<string, Roof>();
  for (const { row } of points) {
    const [peak, ridge] = [row["peak_flops_per_s"], row["ridge_flops_per_byte"]];
    if (typeof peak === "number" && typeof ridge === "number" && ridge > 0) found.set(`${peak} ${ridge}`, { peak, ridge });
  }
  return [...found.values()];
}

function Shape({ bound, size }: { bound: Bound; size: number }) {
  switch (SHAPES[bound]) {
    case "circle":
      return <circle r={size} />;
    case "square":
      return <rect x={-size} y={-size} width={2 * size} height={2 * size} />;
    case "triangle":
      return <path d={`M0 ${-size * 1.2}L${size * 1.1} ${size}H${-size * 1.1}Z`} />;
    case "diamond":
      return <path d={`M0 ${-size * 1.3}L${size * 1.3} 0L0 ${size * 1.3}L${-size * 1.3} 0Z`} />;
    case "cross":
      return <path d={`M${-size} ${-size}L${size} ${size}M${-size} ${size}L${size} ${-size}`} />;
  }
}

function Axes({ across, up }: { across: Scale; up: Scale }) {
  return (
    <g class="axes" aria-hidden="true">
      {powers(across).map((power) => (
        <g key={`x${power}`}>
          <line x1={xOf(10 ** power, across)} x2={xOf(10 ** power, across)} y1={TOP} y2={HEIGHT - BOTTOM} />
          <text x={xOf(10 ** power, across)} y={HEIGHT - BOTTOM + 18} text-anchor="middle">{power < 0 ? (10 ** power).toFixed(-power) : (10 ** power).toLocaleString("en-US")}</text>
        </g>
      ))}
      {powers(up).map((power) => (
        <g key={`y${power}`}>
          <line x1={LEFT} x2={WIDTH - RIGHT} y1={yOf(10 ** power, up)} y2={yOf(10 ** power, up)} />
          <text x={LEFT - 8} y={yOf(10 ** power, up) + 4} text-anchor="end">{cellText(10 ** power, "flops_per_s")}</text>
        </g>
      ))}
      <text class="name" x={(LEFT + WIDTH - RIGHT) / 2} y={HEIGHT - 6} text-anchor="middle">{columnText("flops_per_byte")}</text>
    </g>
  );
}

function powers({ low, high }: Scale): number[] {
  return Array.from({ length: high - low + 1 }, (_, at) => low + at);
}

function xOf(value: number, across: Scale): number {
  return LEFT + (WIDTH - LEFT - RIGHT) * place(value, across);
}

function yOf(value: number, up: Scale): number {
  return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * place(value, up);
}

function told({ row, intensity, speed }: Point): string {
  const share = row["share_ratio"];
  return [
    [row["op_type"], row["input_shapes"]].filter(Boolean).join(" "),
    cellText(speed, "flops_per_s"),
    `${columnText("flops_per_byte")} ${cellText(intensity, "number")}`,
    typeof share === "number" ? `${columnText("share_ratio")} ${cellText(share, "ratio")}` : "",
  ].filter(Boolean).join(", ");
}
