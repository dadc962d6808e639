/** The colour and hatch of a kind, as on the canvas. */

import { useEffect, useRef } from "preact/hooks";
import { colours } from "../shell/settings";
import { Palette } from "./palette";
import { Hatches } from "./patterns";

const SIZE = 14;

export function Swatch({ kind, dark = isDark() }: { kind: string; dark?: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const turn = colours.value;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || !canvas.current) return;
    const palette = new Palette([kind], dark);
    const paint = palette.paint(0);
    context.fillStyle = paint.fill;
    context.fillRect(0, 0, SIZE, SIZE);
    const pattern = palette.pattern(0);
    const hatch = pattern === "none" ? null : new Hatches(context).of(pattern, paint.ink === "#ffffff" ? "rgba(255,255,255,.4)" : "rgba(0,0,0,.32)");
    if (hatch) {
      context.fillStyle = hatch;
      context.fillRect(0, 0, SIZE, SIZE);
    }
  }, [kind, dark, turn]);
  return <canvas class="tl-swatch" ref={canvas} width={SIZE} height={SIZE} aria-hidden="true" />;
}

export function isDark(): boolean {
  const set = document.documentElement.dataset["theme"];
  return set === undefined ? matchMedia("(prefers-color-scheme: dark)").matches : set === "dark";
}
