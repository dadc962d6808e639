import { beforeAll, expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", search: "?lang=en" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("navigator", { language: "en" });

const MS = 1_000_000;
const BASE = { base_ns: 160 * MS, method: "replay" as const, per: "step", remarks: [] };
let gainText: typeof import("../src/insight/pages/findings/gain").gainText;

beforeAll(async () => {
  ({ gainText } = await import("../src/insight/pages/findings/gain"));
});

test("a gain is said with its bounds", () => {
  const gain = { ...BASE, low_ns: 8 * MS, expected_ns: 16 * MS, high_ns: 32 * MS, low_ratio: 0.05, expected_ratio: 0.1, high_ratio: 0.2 };
  expect(gainText(gain, "high")).toBe("Gain: 16.0 ms per step (10 %), 8.00 ms to 32.0 ms. Confidence: high");
});

test("a gain that may be a loss is not promised", () => {
  const gain = { ...BASE, low_ns: -109 * MS, expected_ns: 13 * MS, high_ns: 60 * MS, low_ratio: -0.7, expected_ratio: 0.08, high_ratio: 0.4 };
  expect(gainText(gain, "low")).toBe(
    "Gain: 13.0 ms per step (8.0 %) expected, but none is sure: from 109 ms longer to 60.0 ms shorter. Confidence: low",
  );
});
