import { beforeAll, expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "#/overview?run=b", search: "" });

let router: typeof import("../src/insight/shell/router");

beforeAll(async () => {
  router = await import("../src/insight/shell/router");
});

test("a page and its parameters are read from the address", () => {
  expect(router.parsed("#/timeline?run=a&t0=5")).toEqual({ page: "timeline", unknown: null, given: { run: "a", t0: "5" } });
  expect(router.parsed("")).toEqual({ page: "overview", unknown: null, given: {} });
});

test("what names no page is told apart from naming none", () => {
  expect(router.parsed("#/nowhere?run=b").unknown).toBe("nowhere");
  expect(router.parsed("#/Memory").unknown).toBe("Memory");
  expect(router.parsed("#/?run=b").unknown).toBeNull();
});

test("an address keeps the run and leaves out what is empty", () => {
  expect(router.href("timeline", { t0: 1.5, t1: null, pins: "0:1,0:2", all: true, none: false })).toBe(
    "#/timeline?run=b&t0=1.5&pins=0:1,0:2&all=1",
  );
  expect(router.href("memory", { run: "a" })).toBe("#/memory?run=a");
});

test("wrong parameters take their default", () => {
  router.route.value = router.parsed("#/operators?tab=odd&from=x&all=1&rank=3");
  const read = router.parameters({
    tab: router.oneOf("types", "shapes"),
    from: router.number(0),
    rank: router.number(),
    all: router.flag,
    text: router.text(),
  });
  expect(read).toEqual({ tab: "types", from: 0, rank: 3, all: true, text: "" });
});
