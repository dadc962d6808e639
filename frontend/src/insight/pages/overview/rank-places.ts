/** Where ranks stand on the map: by their places in named groups, else in the order of their numbers. */

export const AXES = ["pp", "dp", "cp", "tp", "ep"] as const;
export type Axis = (typeof AXES)[number];

/** A rank with its place in its group of each kind; null where no group of that kind is known. */
export interface Placed {
  rank: number | null;
  places: Readonly<Record<Axis, number | null>>;
}

export interface Grid {
  /** Kinds that tell the grid: the last runs across, the others down; empty where groups do not tell it. */
  axes: readonly Axis[];
  /** The last place of a label is a range, such as `4–7`, where several stand side by side. */
  rows: readonly { label: readonly (readonly [Axis, number | string])[]; cells: readonly (number | null)[] }[];
  columns: readonly number[];
  /** Why groups do not tell a grid. */
  reason: "no-groups" | "some-without" | "same-place" | null;
}

/** As many cells as a wide window shows beside the label of their row. */
const MOST_COLUMNS = 16;

/** Height of a row with the space below it, as the style sheet has it. */
export const ROW_PX = 47;
const ALL_ROWS = 40;
const ROWS_BESIDE = 8;

/** The rows that are drawn, first and one past the last: all of few, else those in sight and some beside them. */
export function rowsInSight(count: number, top: number, height: number): readonly [number, number] {
  if (count <= ALL_ROWS) return [0, count];
  const first = Math.max(0, Math.min(count - 1, Math.floor(top / ROW_PX)) - ROWS_BESIDE);
  return [first, Math.min(count, Math.ceil((top + height) / ROW_PX) + ROWS_BESIDE)];
}

export function gridOf(ranks: readonly Placed[]): Grid {
  const known = AXES.filter((axis) => axis !== "ep" && ranks.some((one) => one.places[axis] !== null));
  const axes: readonly Axis[] = known.length ? known : AXES.filter((axis) => axis === "ep" && ranks.some((one) => one.places[axis] !== null));
  const across = axes.at(-1);
  if (across === undefined) return flat(ranks, "no-groups");
  if (ranks.some((one) => axes.some((axis) => one.places[axis] === null))) return flat(ranks, "some-without");
  const down = axes.slice(0, -1);
  const columns = ends(ranks.map((one) => one.places[across] ?? 0));
  const rows = new Map<string, { order: readonly number[]; cells: (number | null)[] }>();
  for (const [at, one] of ranks.entries()) {
    const order = down.map((axis) => one.places[axis] ?? 0);
    const row = rows.get(order.join(" ")) ?? { order, cells: columns.map(() => null) };
    rows.set(order.join(" "), row);
    const column = columns.indexOf(one.places[across] ?? 0);
    if (row.cells[column] !== null) return flat(ranks, "same-place");
    row.cells[column] = at;
  }
  const sorted = [...rows.values()].sort((a, b) => a.order.map((place, at) => place - (b.order[at] ?? 0)).find((difference) => difference !== 0) ?? 0);
  const told = sorted.map((row) => ({ cells: row.cells, label: row.order.map((place, at) => [down[at] ?? across, place] as const) }));
  return { axes, reason: null, ...sideBySide(told, columns) };
}

type ToldRow = Grid["rows"][number];

/** More rows than a screen shows: as many neighbours of one label but for its last place stand beside each other as there is room for. */
function sideBySide(rows: readonly ToldRow[], columns: readonly number[]): Pick<Grid, "rows" | "columns"> {
  const beside = Math.floor(MOST_COLUMNS / columns.length);
  if (rows.length <= MOST_COLUMNS || beside < 2) return { rows, columns };
  const above = (row: ToldRow): string => JSON.stringify(row.label.slice(0, -1));
  const joined: ToldRow[][] = [];
  for (const row of rows) {
    const open = joined.at(-1);
    const last = open?.at(-1);
    if (open && last && open.length < beside && above(last) === above(row) && placeOf(row) === placeOf(last) + 1) open.push(row);
    else joined.push([row]);
  }
  const widest = Math.max(...joined.map((some) => some.length));
  return {
    columns: Array.from({ length: widest }, () => columns).flat(),
    rows: joined.map((some) => ({ label: rangeOf(some), cells: some.flatMap((row) => row.cells) })),
  };
}

function placeOf(row: ToldRow): number {
  return Number(row.label.at(-1)?.[1]);
}

function rangeOf(rows: readonly ToldRow[]): ToldRow["label"] {
  const [first, last] = [rows[0]?.label ?? [], rows.at(-1)?.label.at(-1)];
  const from = first.at(-1);
  return from && last && rows.length > 1 ? [...first.slice(0, -1), [from[0], `${from[1]}–${last[1]}`]] : first;
}

function flat(ranks: readonly Placed[], reason: Grid["reason"]): Grid {
  const columns = ends(ranks.slice(0, MOST_COLUMNS).map((_, at) => at));
  const rows = Array.from({ length: Math.ceil(ranks.length / MOST_COLUMNS) }, (_, row) => ({
    label: [],
    cells: columns.map((column) => (row * MOST_COLUMNS + column < ranks.length ? row * MOST_COLUMNS + column : null)),
  }));
  return { axes: [], columns, rows, reason };
}

function ends(places: readonly number[]): number[] {
  return [...new Set(places)].sort((a, b) => a - b);
}

/** The rank that an arrow key leads to. */
export function next(grid: Grid, from: number, key: string): number | null {
  const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[key];
  if (!step) return null;
  let row = grid.rows.findIndex((one) => one.cells.includes(from));
  let column = grid.rows[row]?.cells.indexOf(from) ?? -1;
  for (;;) {
    row += step[0] ?? 0;
    column += step[1] ?? 0;
    const line = grid.rows[row]?.cells;
    if (!line || column < 0 || (step[0] === 0 && column >= line.length)) return null;
    const at = line[column] ?? null; // the last line of a stage may be shorter: it is passed over
    if (at !== null) return at;
  }
}

/** Cividis at seven places, dark first: told apart with every kind of colour vision, and in grey. */
const CIVIDIS = [[0, 34, 78], [42, 63, 109], [87, 93, 109], [124, 123, 120], [165, 156, 116], [210, 193, 99], [254, 232, 56]] as const;

/** From the least to the greatest value, but at least a tenth around the median: small differences look small. */
export function shadeScale(values: readonly number[]): readonly [number, number] {
  const sorted = [...values].sort((a, b) => a - b);
  const median = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  const low = sorted[0] ?? 0;
  const high = sorted.at(-1) ?? 0;
  return [Math.min(low, median * 0.95), Math.max(high, median * 1.05)];
}

/** Colour of a value between the least and the most, and of the ink on it. */
export function shadeOf(value: number, [low, high]: readonly [number, number]): { background: string; color: string } {
  const place = (high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0.5) * (CIVIDIS.length - 1);
  const at = Math.min(CIVIDIS.length - 2, Math.floor(place));
  const [from, to] = [CIVIDIS[at] ?? CIVIDIS[0], CIVIDIS[at + 1] ?? CIVIDIS[0]];
  const mixed = from.map((part, channel) => Math.round(part + ((to[channel] ?? part) - part) * (place - at)));
  const light = 0.299 * (mixed[0] ?? 0) + 0.587 * (mixed[1] ?? 0) + 0.114 * (mixed[2] ?? 0);
  return { background: `rgb(${mixed.join(", ")})`, color: light > 118 ? "#000" : "#fff" };
}
