import { expect, test } from "vitest";
import { type Axis, type Placed, ROW_PX, gridOf, next, rowsInSight, shadeOf, shadeScale } from "../src/insight/pages/overview/rank-places";
import { corners, decades, place } from "../src/insight/pages/operators/roofline-scale";

const NOWHERE: Record<Axis, number | null> = { pp: null, dp: null, cp: null, tp: null, ep: null };

function placed(rank: number, places: Partial<Record<Axis, number>>): Placed {
  return { rank, places: { ...NOWHERE, ...places } };
}

test("two stages of two tensor-parallel ranks are two rows of two columns", () => {
  const grid = gridOf([0, 1, 2, 3].map((rank) => placed(rank, { pp: Math.floor(rank / 2), tp: rank % 2 })));
  expect(grid.axes).toEqual(["pp", "tp"]);
  expect(grid.columns).toEqual([0, 1]);
  expect(grid.rows).toEqual([
    { label: [["pp", 0]], cells: [0, 1] },
    { label: [["pp", 1]], cells: [2, 3] },
  ]);
});

test("a place that no rank holds stays empty", () => {
  const grid = gridOf([placed(0, { dp: 0, tp: 0 }), placed(3, { dp: 1, tp: 1 })]);
  expect(grid.rows.map((row) => row.cells)).toEqual([[0, null], [null, 1]]);
});

test("a thousand ranks fill their grid", () => {
  const grid = gridOf(Array.from({ length: 1024 }, (_, rank) => placed(rank, { pp: Math.floor(rank / 128), dp: Math.floor(rank / 8) % 16, tp: rank % 8 })));
  expect([grid.rows.length, grid.columns.length, grid.rows.flatMap((row) => row.cells).filter((at) => at !== null).length]).toEqual([64, 16, 1024]);
  expect(grid.columns.slice(6, 10)).toEqual([6, 7, 0, 1]);
  expect(grid.rows[9]?.label).toEqual([["pp", 1], ["dp", "2–3"]]);
  expect(grid.rows[9]?.cells[8]).toBe(1 * 128 + 3 * 8);
});

test("rows stand side by side within one stage only; what is left over stands alone", () => {
  const ranks = Array.from({ length: 2 * 9 * 4 }, (_, rank) => placed(rank, { pp: Math.floor(rank / 36), dp: Math.floor(rank / 4) % 9, tp: rank % 4 }));
  const grid = gridOf(ranks);
  expect(grid.rows.map((row) => row.label)).toEqual([
    [["pp", 0], ["dp", "0–3"]], [["pp", 0], ["dp", "4–7"]], [["pp", 0], ["dp", 8]],
    [["pp", 1], ["dp", "0–3"]], [["pp", 1], ["dp", "4–7"]], [["pp", 1], ["dp", 8]],
  ]);
  expect(grid.rows[2]?.cells).toEqual([32, 33, 34, 35]);
  expect(next(grid, 31, "ArrowDown")).toBe(36 + 15); // past the short row, into the next stage
  expect([next(grid, 35, "ArrowRight"), next(grid, 0, "ArrowUp"), next(grid, 68, "ArrowDown")]).toEqual([null, null, null]);
});

test("places that are not neighbours stand in rows of their own", () => {
  const places = [0, ...Array.from({ length: 17 }, (_, at) => at + 5)];
  const grid = gridOf(places.flatMap((dp, at) => [0, 1].map((tp) => placed(2 * at + tp, { dp, tp }))));
  expect(grid.rows.map((row) => row.label)).toEqual([[["dp", 0]], [["dp", "5–12"]], [["dp", "13–20"]], [["dp", 21]]]);
});

test("where groups tell no grid, ranks stand in order and the reason is said", () => {
  expect(gridOf([placed(0, {}), placed(1, {})])).toMatchObject({ reason: "no-groups", axes: [], rows: [{ cells: [0, 1] }] });
  expect(gridOf([placed(0, { tp: 0 }), placed(1, {})]).reason).toBe("some-without");
  expect(gridOf([placed(0, { tp: 0 }), placed(1, { tp: 0 })]).reason).toBe("same-place");
  expect(gridOf(Array.from({ length: 17 }, (_, rank) => placed(rank, {}))).rows.map((row) => row.cells.filter((at) => at !== null).length)).toEqual([16, 1]);
});

test("the least is dark with light ink, the most is light with dark ink", () => {
  expect(shadeOf(1, [1, 3])).toEqual({ background: "rgb(0, 34, 78)", color: "#fff" });
  expect(shadeOf(3, [1, 3])).toEqual({ background: "rgb(254, 232, 56)", color: "#000" });
  expect(shadeOf(5, [5, 5]).background).toBe("rgb(124, 123, 120)");
});

test("scales are whole powers of ten around what they show", () => {
  expect(decades([3, 250])).toEqual({ low: 0, high: 3 });
  expect(decades([10])).toEqual({ low: 1, high: 2 });
  expect(place(100, { low: 0, high: 4 })).toBe(0.5);
});

test("a roof rises with the bandwidth to the ridge and is flat after it", () => {
  expect(corners({ peak: 1000, ridge: 10 }, { low: 0, high: 2 })).toEqual([[1, 100], [10, 1000], [100, 1000]]);
  expect(corners({ peak: 1000, ridge: 0.1 }, { low: 0, high: 1 })).toEqual([[1, 1000], [10, 1000]]);
});

test("of many rows those in sight are drawn, with eight on either side; of few all", () => {
  expect(rowsInSight(40, 0, 100)).toEqual([0, 40]);
  expect(rowsInSight(128, 0, 10 * ROW_PX)).toEqual([0, 18]);
  expect(rowsInSight(128, 50 * ROW_PX, 10 * ROW_PX)).toEqual([42, 68]);
  expect(rowsInSight(128, 128 * ROW_PX, 10 * ROW_PX)).toEqual([119, 128]);
  expect(rowsInSight(0, 0, 0)).toEqual([0, 0]);
});

test("a scale spans at least a tenth around the median, so that ranks that hardly differ look alike", () => {
  expect(shadeScale([100, 101])).toEqual([95, 105]);
  expect(shadeScale([100, 100, 200])).toEqual([95, 200]);
});
