import { beforeAll, expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", search: "?lang=en" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("navigator", { language: "en" });

let cells: typeof import("../src/insight/controls/cells");
let words: typeof import("../src/insight/shell/words");

beforeAll(async () => {
  cells = await import("../src/insight/controls/cells");
  words = await import("../src/insight/shell/words");
});

test("what is not known is a dash, never zero", () => {
  expect(cells.cellText(null, "ns")).toBe("-");
  expect(cells.cellText(undefined, "bytes")).toBe("-");
  expect(cells.cellText(0, "ns")).toBe("0 ns");
  expect(cells.differenceText(null, "ns")).toBe("-");
});

test("values carry their unit, differences their sign", () => {
  expect(cells.cellText(1_500_000, "at_ns")).toBe("1.50 ms");
  expect(cells.cellText(3.2e12, "flops_per_s")).toBe("3.20 TFLOP/s");
  expect(cells.cellText(12345, "count")).toBe("12,345");
  expect(cells.cellText("9007199254740993", "number")).toBe("9007199254740993");
  expect(cells.cellText(true, "flag")).toBe("yes");
  expect(cells.differenceText(2000, "ns")).toBe("+2.00 us");
  expect(cells.differenceText(-2000, "ns")).toBe("-2.00 us");
});

test("columns of a comparison are named after their column", () => {
  expect(cells.columnText("total_ns")).toBe("total");
  expect(cells.columnText("more_total_ns")).toBe("total, difference");
  expect(cells.columnText("an_unheard_of_ns")).toBe("an unheard of");
});

test("words of the data are said in the reader's language, others stay", () => {
  expect(cells.wordText("cause", "data_wait")).toBe("waiting for data");
  expect(cells.wordText("cause", "copy")).toBe("copies");
  expect(cells.wordText("kind", "something else")).toBe("something else");
  expect(cells.wordText("name", "aten::mm")).toBe(null);
});

test("one thing is singular in English, and Chinese has one form", () => {
  expect(words.textOf("table.rows", "en", { count: 1 })).toBe("1 row");
  expect(words.textOf("table.rows", "en", { count: 1234 })).toBe("1,234 rows");
  expect(words.textOf("table.rows", "zh", { count: 1 })).toBe("共 1 行");
});

test("large numbers without a unit are written out", () => {
  expect(cells.cellText(1263.4, "number")).toBe("1,263");
  expect(cells.cellText(15.83, "number")).toBe("15.8");
});

test("a table may call a column by a name of its own, and no two of a table have one name", () => {
  expect(cells.columnText("ts_ns")).toBe("start");
  expect(cells.columnText("ts_ns", "fragmentation")).toBe("at");
  expect(cells.columnText("ts_ns", "memory_blocks")).toBe("allocated");
  expect(cells.columnText("saving_ns")).not.toBe(cells.columnText("saving_ratio"));
});

test("figures of free time are called as their cause is", () => {
  expect(cells.columnText("launch_call_ns")).toBe("launch calls");
  expect(cells.columnText("gc_guess_ns")).toBe("a silent host, perhaps garbage collection");
});

test("what a missing value stands for is said where it is known", () => {
  expect(cells.absentText("modules", "path", {})).toBe("(the whole phase)");
  expect(cells.absentText("mfu", "rank", { profile_id: null })).toBe("all ranks");
  expect(cells.absentText("mfu", "rank", { profile_id: 0 })).toBe(null);
  expect(cells.absentText("kernels", "name", {})).toBe(null);
});

test("the end of a path is kept, from a part on", () => {
  expect(cells.pathEnd("Model.Layer", 20)).toBe("Model.Layer");
  expect(cells.pathEnd("DistributedDataParallel_0.AlexNet_0.Conv2d_1", 20)).toBe("\u2026AlexNet_0.Conv2d_1");
  expect(cells.pathEnd("rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", 44, "/")).toBe("\u2026ASCEND_PROFILER_OUTPUT/trace_view.json");
  expect(cells.pathEnd("x".repeat(30), 20)).toBe(`\u2026${"x".repeat(20)}`);
});

test("kinds of damage are said without the example, which has a column of its own", () => {
  expect(cells.wordText("kind", "row_width")).toBe("rows with too few or too many cells");
  expect(cells.wordText("kind", "launch_repaired")).toContain("kernels that start before");
});

test("an example that says what its kind says is known as such", () => {
  const example = "kernels that start before the launch they are linked to; the call around it is taken";
  expect(cells.repeatsKind({ kind: "launch_repaired", example })).toBe(true);
  expect(cells.repeatsKind({ kind: "launch_repaired", example: "line 7" })).toBe(false);
  expect(cells.repeatsKind({ kind: "unheard of", example })).toBe(false);
});

test("of a C++ function the part that tells it apart is shown, other names stay", () => {
  expect(cells.functionText("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, at::detail::Array<char*, 3> >(int)")).toBe(
    "vectorized_elementwise_kernel<4, AddFunctor<float>, Array<char*, 3> >(int)",
  );
  expect(cells.functionText("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int)")).toBe("max_pool_forward_nchw<float, float>(int)");
  expect(cells.functionText("aten::convolution_backward")).toBe("aten::convolution_backward");
  expect(cells.functionText("<built-in method item of Tensor object>")).toBe("<built-in method item of Tensor object>");
});
