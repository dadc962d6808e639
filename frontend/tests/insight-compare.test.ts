/** How a comparison says a change, and when it is called better or worse. */

import { beforeAll, expect, test, vi } from "vitest";
import type { Judgement } from "../src/insight/api/types";

vi.stubGlobal("location", { hash: "", search: "?lang=en" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("navigator", { language: "en" });

let metric: typeof import("../src/insight/pages/compare/metric");

beforeAll(async () => {
  metric = await import("../src/insight/pages/compare/metric");
});

const STEP: Judgement = { metric: "step_time", unit: "ns", change_kind: "relative", worse: "up", base: 10, candidate: 9, base_spread: null, candidate_spread: null, change: -0.1, low: null, high: null, limit: 0.1, verdict: "inconclusive" };

test("a change that rounds to nothing has no sign", () => {
  expect(metric.changeText(-0.0001, "relative")).toBe("0 %");
  expect(metric.changeText(-0.026, "relative")).toBe("-2.6 %");
  expect(metric.changeText(0.002, "points")).toBe("+0.2 points");
});

test("only what was told apart from chance is coloured", () => {
  const coloured = ["inconclusive", "no change", null, "improved", "regression", "possible"].map((verdict) => metric.changeClass({ ...STEP, verdict }));

  expect(coloured).toEqual(["", "", "", "less", "more", "more"]);
});
