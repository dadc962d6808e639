/** Tooltips made of elements: texts of a trace only ever become text nodes. */

import type { Theme } from "./theme";

export interface Row {
  kind?: string;
  label: string;
  value: string;
}

export function tooltipElement(title: string, rows: Row[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "tip";
  if (title) box.append(element("b", title));
  for (const row of rows) {
    const line = document.createElement("div");
    if (row.kind) line.append(element("span", "", `swatch ${row.kind}`));
    line.append(element("span", row.label, "what"), element("span", row.value, "much"));
    box.append(line);
  }
  return box;
}

/** The look that all tooltips share. */
export function tooltipStyle(theme: Theme): object {
  return {
    backgroundColor: theme.card,
    borderColor: theme.line,
    textStyle: { color: theme.ink, fontFamily: theme.font, fontSize: 13 },
    confine: true,
    enterable: false,
    transitionDuration: 0,
  };
}

function element(tag: string, text: string, className = ""): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}
