/** Puts a living chart in the place of a drawn figure, which stays for print. */

import type { Chart } from "../report/data";
import { type ECharts, init } from "./engine";
import { heightOf, optionOf } from "./options";
import { themeOf } from "./theme";

export interface Mounted {
  /** Draws anew, as when the colours of the page changed. */
  redraw(): void;
  resize(): void;
}

export function mount(figure: HTMLElement, chart: Chart): Mounted {
  const box = document.createElement("div");
  box.className = "live";
  box.style.height = `${heightOf(chart)}px`;
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", titleOf(figure));
  let view = 0;
  const choices = choicesOf(chart);
  if (choices.length > 1) {
    figure.prepend(chooser(choices, (chosen) => {
      view = chosen;
      redraw();
    }));
  }
  figure.append(box);
  figure.classList.add("has-live");
  const made: ECharts = init(box, null, { renderer: "canvas" });
  const redraw = (): void => {
    made.setOption({ aria: { enabled: false }, ...optionOf(chart, view, themeOf(figure)) }, true);
  };
  redraw();
  return { redraw, resize: () => made.resize() };
}

/** What the drawing says it shows, else the heading above it; the figures are in the table beside it. */
function titleOf(figure: HTMLElement): string {
  const drawn = figure.querySelector("svg")?.getAttribute("aria-label");
  return drawn || figure.closest(".card")?.querySelector("h3")?.textContent || figure.dataset["chart"] || "";
}

/** What can be chosen of a chart: the metric of a heat map, the group of curves. */
function choicesOf(chart: Chart): string[] {
  if (chart.type === "heat") return chart.metrics.map((metric) => metric.label);
  return chart.type === "lines" ? chart.groups.map((group) => group.label) : [];
}

function chooser(choices: string[], chosen: (at: number) => void): HTMLElement {
  const box = document.createElement("div");
  box.className = "chooser";
  box.setAttribute("role", "group");
  const buttons = choices.map((text, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.setAttribute("aria-pressed", String(at === 0));
    button.addEventListener("click", () => {
      for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
      chosen(at);
    });
    return button;
  });
  box.append(...buttons);
  return box;
}
