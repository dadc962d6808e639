/** Colours of slices: what they are decides the colour, their name only how deep it is. Readable with every colour vision. */

export type Pattern = "none" | "diagonal" | "back" | "dots" | "cross";

export interface Paint {
  fill: string;
  ink: string;
}

/** Fixed meanings, Okabe and Ito's colours. What is not listed is slate. */
const KINDS: Record<string, string> = {
  compute: "#0072b2",
  fused: "#0a5f96",
  communication: "#d55e00",
  exposed_communication: "#d55e00",
  overlapped_communication: "#56b4e9",
  copy: "#cc79a7",
  exposed_copy: "#cc79a7",
  data: "#e69f00",
  wait: "#e69f00",
  transit: "#009e73",
  forward: "#56b4e9",
  backward: "#0072b2",
  optimizer: "#009e73",
  step: "#009e73",
  request: "#56b4e9",
  queue: "#e69f00",
  prefill: "#0072b2",
  decode: "#009e73",
  span: "#f0e442",
  mark: "#f0e442",
  sync: "#999999",
};
const SLATE = ["#5d7183", "#6b7f8f", "#7889a0", "#647a78", "#75808c"];
const SLATE_DARK = ["#6f8597", "#7d92a3", "#8a9cb3", "#768d8b", "#87929e"];
const PATTERNS: Record<string, Pattern> = {
  exposed_communication: "back", overlapped_communication: "dots", exposed_copy: "cross", free: "diagonal", idle: "diagonal",
};
/** How much darker (or lighter, below 0) than its kind a slice may be, by its name. */
const SHADES = [0, 0.1, 0.2, -0.12, -0.24];

export const MARK_COLOURS = ["#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#0072b2"] as const;

export class Palette {
  readonly #kinds: readonly string[];
  readonly #dark: boolean;
  readonly #paints = new Map<number, Paint>();

  constructor(kinds: readonly string[], dark: boolean) {
    this.#kinds = kinds;
    this.#dark = dark;
  }

  /** A small number for each look, equal for slices that look alike; without a name it is the plain colour of the kind. */
  look(kind: number, name: number | null): number {
    return kind * SHADES.length + (name === null ? 0 : scrambled(name) % SHADES.length);
  }

  paint(look: number): Paint {
    const known = this.#paints.get(look);
    if (known) return known;
    const kind = this.#kinds[Math.floor(look / SHADES.length)] ?? "";
    const shade = look % SHADES.length;
    const fill = this.#fill(kind, shade);
    const made = { fill, ink: inkOn(fill) };
    this.#paints.set(look, made);
    return made;
  }

  pattern(kind: number): Pattern {
    return PATTERNS[this.#kinds[kind] ?? ""] ?? "none";
  }

  #fill(kind: string, shade: number): string {
    if (kind === "free" || kind === "idle") return this.#dark ? "#3a4047" : "#d5d8dc";
    const base = KINDS[kind];
    if (base === undefined) return (this.#dark ? SLATE_DARK : SLATE)[shade] ?? "#6b7f8f";
    return PATTERNS[kind] ? base : shaded(base, SHADES[shade] ?? 0);
  }
}

/** Black or white, whichever is read more easily on a colour. */
export function inkOn(fill: string): string {
  const light = luminance(fill);
  return 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000";
}

/** Blue where the candidate is faster, orange where it is slower; grey where nothing is known. `change` is a ratio. */
export function changeColour(change: number | null, dark: boolean): string {
  if (change === null) return dark ? "#4a5159" : "#c3c8ce";
  const share = Math.min(1, Math.abs(change) / 0.3);
  return mixed(dark ? "#565d66" : "#dfe2e5", change > 0 ? "#d55e00" : "#0072b2", 0.15 + 0.85 * share);
}

export function contrast(one: string, other: string): number {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function shaded(colour: string, by: number): string {
  return by >= 0 ? mixed(colour, "#000000", by) : mixed(colour, "#ffffff", -by);
}

function mixed(one: string, other: string, share: number): string {
  const parts = channels(one).map((value, at) => Math.round(value + ((channels(other)[at] ?? 0) - value) * share));
  return `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

function luminance(colour: string): number {
  const [red, green, blue] = channels(colour).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Neighbouring numbers get different shades. */
function scrambled(number: number): number {
  let mixed = Math.imul(number ^ 0x9e3779b9, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  return Math.imul(mixed, 0xc2b2ae35) >>> 8;
}
