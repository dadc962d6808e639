/** Why something was not collected, in Chinese: known sentences are told, with what differs in them; others stay. */

import { beforeAll, beforeEach, expect, test, vi } from "vitest";

vi.stubGlobal("location", { hash: "", search: "?lang=zh" });
vi.stubGlobal("localStorage", { getItem: () => null });
vi.stubGlobal("navigator", { language: "en" });

let absentText: typeof import("../src/insight/controls/absent")["absentText"];
let exampleText: typeof import("../src/insight/shell/reasons")["exampleText"];
let reasonText: typeof import("../src/insight/shell/reasons")["reasonText"];
let turnOnText: typeof import("../src/insight/shell/reasons")["turnOnText"];
let language: typeof import("../src/insight/shell/settings")["language"];

beforeAll(async () => {
  ({ absentText } = await import("../src/insight/controls/absent"));
  ({ exampleText, reasonText, turnOnText } = await import("../src/insight/shell/reasons"));
  ({ language } = await import("../src/insight/shell/settings"));
});

beforeEach(() => {
  language.value = "zh";
});

test("reasons are told with what differs in them", () => {
  expect(reasonText("profile_memory was off")).toBe("未开启 profile_memory");
  expect(reasonText("requested, but nothing was recorded (looked in kernel_details.csv)")).toBe("已请求采集，但没有记录到数据（已查找 kernel_details.csv）");
  expect(reasonText("a reader from elsewhere")).toBe("a reader from elsewhere");
});

test("what collects it keeps its code", () => {
  expect(turnOnText("A=True, of a program whose graphs are compiled for static shapes")).toBe("A=True，且程序的图按静态 shape 编译");
  expect(turnOnText("record_shapes=True")).toBe("record_shapes=True");
});

test("examples of damage are told, data stays", () => {
  expect(exampleText("the file ends early; 12 complete events were read")).toBe("文件提前结束；已读取 12 个完整的事件");
  expect(exampleText("the file ends early; 12 events were read")).toBe("文件提前结束；已读取 12 个事件");
  expect(exampleText("not a SQLite database (at table TASK); the text export beside it is read instead")).toBe("不是 SQLite 数据库（位置：table TASK）；改读旁边的文本导出");
  expect(exampleText("Duration(us) = 'N/A'")).toBe("Duration(us) = 'N/A'");
});

test("in English nothing changes", () => {
  language.value = "en";
  expect(reasonText("profile_memory was off")).toBe("profile_memory was off");
});

test("a reason that says the state stands alone", () => {
  expect(absentText({ state: "missing", reason: "nothing was recorded" })).toBe("没有记录到数据");
  expect(absentText({ state: "not_requested", reason: "with_stack was off" })).toBe("未采集：未开启 with_stack");
  expect(absentText({ state: "empty" })).toBe("已采集，但期间没有发生");
});
