/** A living chart of the report's kinds: drawn anew with the colours of the page, resized with its box. */

import { useEffect, useRef } from "preact/hooks";
import { type ECharts, init } from "../../charts/engine";
import { heatWidth } from "../../charts/heat";
import { heightOf, optionOf } from "../../charts/options";
import { themeOf } from "../../charts/theme";
import type { Chart } from "../../report/data";
import { colours } from "../shell/settings";

export interface ChartProps {
  chart: Chart;
  /** What the chart shows, for a screen reader; its figures are in the table beside it. */
  title: string;
  /** Metric of a heat map, group of curves. */
  view?: number;
  height?: number;
  onPick?: ((row: number, part: number) => void) | undefined;
  /** A range was chosen along the axis, as shares of it from 0 to 1. */
  onZoom?: ((from: number, to: number) => void) | undefined;
}

export function ChartView({ chart, title, view = 0, height, onPick, onZoom }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const made = useRef<ECharts | null>(null);
  const acts = useRef({ onPick, onZoom });
  acts.current = { onPick, onZoom };
  const shade = colours.value;
  useEffect(() => {
    if (!box.current) return undefined;
    const drawn = init(box.current, null, { renderer: "canvas" });
    made.current = drawn;
    drawn.on("click", (at) => acts.current.onPick?.(at.dataIndex, at.seriesIndex ?? 0));
    drawn.on("datazoom", (event) => {
      const { start, end } = (event as { batch?: { start: number; end: number }[]; start?: number; end?: number }).batch?.[0] ?? (event as { start?: number; end?: number });
      if (start !== undefined && end !== undefined) acts.current.onZoom?.(start / 100, end / 100);
    });
    const watch = new ResizeObserver(() => drawn.resize());
    watch.observe(box.current);
    return () => {
      watch.disconnect();
      // A large drawing is painted over several frames; those still to come would meet a chart that is gone.
      drawn.clear();
      drawn.getZr().refreshImmediately();
      drawn.dispose();
      made.current = null;
    };
  }, []);
  useEffect(() => {
    if (!box.current || !made.current) return;
    made.current.resize();
    made.current.setOption({ aria: { enabled: false }, ...optionOf(chart, view, themeOf(box.current)) }, true);
  }, [chart, view, shade]);
  return <div ref={box} class={`chart${onPick ? " picks" : ""}`} role="img" aria-label={title} style={{ height: `${height ?? heightOf(chart)}px`, minWidth: chart.type === "heat" ? `${heatWidth(chart)}px` : "" }} />;
}
