import { expect, it } from "vitest";

import { rankingOption } from "../src/charts/ranking";
import type { Theme } from "../src/charts/theme";

const THEME = { colour: () => "#000", hatched: () => false, ink: "#000", soft: "#000", line: "#000", card: "#fff", font: "x" } as unknown as Theme;
const MIB = 2 ** 20;

function interval(unit: "bytes" | "ns", values: number[]): unknown {
  const rows = values.map((value, at) => ({ label: String(at), value, note: "" }));
  const option = rankingOption({ type: "ranking", unit, kind: "compute", label: "", cumulativeLabel: "", rows, cumulative: values.map(() => null) }, THEME);
  return (option.xAxis as { interval?: number }[])[0]?.interval;
}

it("counts bytes in binary steps, and leaves times to the chart", () => {
  expect(interval("bytes", [234 * MIB, 10 * MIB])).toBe(64 * MIB);
  expect(interval("ns", [3e6, 1e6])).toBeUndefined();
});
