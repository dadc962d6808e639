/** Puts a living chart in the place of a drawn figure, which stays for print. */

import type { Chart } from "../report/data";
import { type ECharts, type EChartsOption, init } from "./engine";
import { heatHeight, heatOption } from "./heat";
import { LINES_HEIGHT, linesOption } from "./lines";
import { rankingHeight, rankingOption } from "./ranking";
import { SHARE_HEIGHT, shareOption } from "./share";
import { stackHeight, stackOption } from "./stack";
import { type Theme, themeOf } from "./theme";

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

function optionOf(chart: Chart, view: number, theme: Theme): EChartsOption {
  switch (chart.type) {
    case "stack":
      return stackOption(chart, theme);
    case "share":
      return shareOption(chart, theme);
    case "ranking":
      return rankingOption(chart, theme);
    case "heat":
      return heatOption(chart, view, theme);
    case "lines":
      return linesOption(chart, view, theme);
  }
}

function heightOf(chart: Chart): number {
  switch (chart.type) {
    case "stack":
      return stackHeight(chart);
    case "share":
      return SHARE_HEIGHT;
    case "ranking":
      return rankingHeight(chart);
    case "heat":
      return heatHeight(chart);
    case "lines":
      return LINES_HEIGHT;
  }
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
