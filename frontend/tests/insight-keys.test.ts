import { expect, test, vi } from "vitest";
import { type Binding, bind, nameOf, startKeys } from "../src/insight/shell/keys";

class Nothing {}
let listener: (event: unknown) => void = () => undefined;
vi.stubGlobal("addEventListener", (_: string, act: typeof listener) => { listener = act; });
vi.stubGlobal("document", { querySelector: () => null });
for (const name of ["HTMLElement", "HTMLInputElement", "HTMLTextAreaElement", "HTMLSelectElement"]) vi.stubGlobal(name, Nothing);

function press(key: string, timeStamp = 0): void {
  listener({ key, timeStamp, target: null, altKey: false, ctrlKey: false, metaKey: false, defaultPrevented: false, preventDefault: () => undefined });
}

function binding(key: string, act: () => void): Binding {
  return { keys: [key], says: "help.title", group: "help.pages", act };
}

test("sequences, what was bound last, and what was unbound", () => {
  const done: string[] = [];
  startKeys();
  bind([binding("g o", () => done.push("overview")), binding("o", () => done.push("o"))]);
  const unbind = bind([binding("o", () => done.push("page"))]);

  press("g");
  press("o", 100);
  press("o", 200);
  press("g", 300);
  press("o", 9000);
  unbind();
  press("o", 9100);

  expect(done).toEqual(["overview", "page", "page", "o"]);
});

test("a key with Ctrl has a name of its own", () => {
  expect(nameOf({ key: "f", ctrlKey: true, metaKey: false })).toBe("Ctrl+f");
  expect(nameOf({ key: "?", ctrlKey: false, metaKey: false })).toBe("?");
});
