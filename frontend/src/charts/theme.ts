/** Colours of the page, read from its custom properties, so that light and dark are decided in one place. */

export interface Theme {
  ink: string;
  soft: string;
  line: string;
  card: string;
  font: string;
  colour(kind: string): string;
  /** Free and idle time is hatched: it is told from the rest without colour. */
  hatched(kind: string): boolean;
}

const HATCHED = new Set(["free", "idle", "gap"]);

export function themeOf(element: Element): Theme {
  const style = getComputedStyle(element);
  const named = (name: string, otherwise: string): string => style.getPropertyValue(`--${name}`).trim() || otherwise;
  return {
    ink: named("ink", "#1b1e22"),
    soft: named("soft", "#565d66"),
    line: named("line", "#e1e4e8"),
    card: named("card", "#ffffff"),
    font: style.fontFamily,
    colour: (kind) => named(kind, named("unknown", "#999999")),
    hatched: (kind) => HATCHED.has(kind),
  };
}

/** Viridis at nine places, light first: readable with every kind of colour vision, and in grey. */
export const SEQUENTIAL = [
  "#fde725", "#addc30", "#5ec962", "#28ae80", "#21918c", "#2c728e", "#3b528b", "#472d7b", "#440154",
];

/** What ECharts is told to draw over a hatched area. */
export function hatch(theme: Theme): object {
  return {
    symbol: "rect",
    rotation: -Math.PI / 4,
    dashArrayX: [1, 0],
    dashArrayY: [1.5, 4.5],
    color: theme.colour("free-line"),
  };
}

export function fill(theme: Theme, kind: string): object {
  return { color: theme.colour(kind), ...(theme.hatched(kind) ? { decal: hatch(theme) } : {}) };
}

/** A vertical axis of names, the first one on top; names wider than `width` pixels are cut. */
export function namedRows(theme: Theme, names: string[], width: number) {
  return {
    type: "category" as const,
    inverse: true,
    data: names,
    axisLabel: { color: theme.ink, width, overflow: "truncate" as const },
    axisTick: { show: false },
    axisLine: { lineStyle: { color: theme.line } },
  };
}
