/** Hatches, so that nothing is told by colour alone. */

import type { Pattern } from "./palette";

const TILE = 8;

/** Patterns of one canvas; they are drawn over the colour of what they mark. */
export class Hatches {
  readonly #context: CanvasRenderingContext2D;
  readonly #made = new Map<string, CanvasPattern | null>();

  constructor(context: CanvasRenderingContext2D) {
    this.#context = context;
  }

  of(pattern: Pattern, colour: string): CanvasPattern | null {
    const key = `${pattern} ${colour}`;
    const known = this.#made.get(key);
    if (known !== undefined) return known;
    const made = this.#context.createPattern(tile(pattern, colour), "repeat");
    this.#made.set(key, made);
    return made;
  }
}

function tile(pattern: Pattern, colour: string): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = TILE;
  canvas.height = TILE;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.4;
  context.beginPath();
  if (pattern === "diagonal" || pattern === "cross") lines(context, false);
  if (pattern === "back" || pattern === "cross") lines(context, true);
  context.stroke();
  if (pattern === "dots") {
    context.fillRect(1, 1, 2, 2);
    context.fillRect(5, 5, 2, 2);
  }
  return canvas;
}

/** Three parallels, so that they meet at the edges of the tile. */
function lines(context: CanvasRenderingContext2D, falling: boolean): void {
  for (const shift of [-TILE, 0, TILE]) {
    context.moveTo(shift, falling ? 0 : TILE);
    context.lineTo(shift + TILE, falling ? TILE : 0);
  }
}
