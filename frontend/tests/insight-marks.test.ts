import { beforeAll, expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", search: "?lang=en" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("navigator", { language: "en" });

let marksOf: typeof import("../src/insight/timeline/marking")["marksOf"];

beforeAll(async () => {
  ({ marksOf } = await import("../src/insight/timeline/marking"));
});

const MARK = { id: "a", from: 3, to: 5, name: "late", colour: "#e69f00" };

test("marks of a saved file are read, whatever else stands beside them is not", () => {
  expect(marksOf(JSON.stringify([{ ...MARK, more: 1 }, { ...MARK, id: "b", to: null }]))).toEqual([MARK, { ...MARK, id: "b", to: null }]);
  expect(marksOf("[]")).toEqual([]);
});

test("what holds no marks is refused", () => {
  for (const text of ["", "{}", "[1]", JSON.stringify([{ ...MARK, to: 2 }]), JSON.stringify([{ ...MARK, colour: "red" }]), JSON.stringify([{ ...MARK, from: "3" }])]) {
    expect(marksOf(text)).toBeNull();
  }
});
