/** Makes a report live: charts in the place of its drawings, tables that sort, the timeline, light and dark. */

import { type Mounted, mount } from "../charts/mount";
import { mountTimeline } from "../timeline/view";
import { addAppearance } from "./appearance";
import { label, readData } from "./data";
import { enliven } from "./tables";

function start(): void {
  const data = readData(document);
  if (!data) return;
  const texts = (name: string): string => label(data, name);
  const mounted: Mounted[] = [];
  for (const figure of document.querySelectorAll<HTMLElement>("figure[data-chart]")) {
    const chart = data.charts[figure.dataset["chart"] ?? ""];
    if (chart) mounted.push(mount(figure, chart));
  }
  const place = document.querySelector<HTMLElement>("#timeline-view");
  if (place && data.timeline) {
    document.body.classList.add("live-timeline");
    mounted.push(mountTimeline(place, data.timeline, texts));
  }
  for (const table of document.querySelectorAll("table")) enliven(table, texts);
  const bar = document.querySelector("nav .in");
  if (bar) addAppearance(bar, texts, () => mounted.forEach((one) => one.redraw()));
  openForPrint();
  new ResizeObserver(() => mounted.forEach((one) => one.resize())).observe(document.body);
}

/** What is folded away on the screen is printed. */
function openForPrint(): void {
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
  });
}

start();
