/** Logarithmic scales of a roofline, and its roofs. */

export interface Scale {
  low: number;
  high: number;
}

/** Whole powers of ten around the values. */
export function decades(values: readonly number[]): Scale {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  if (!logs.length) return { low: 0, high: 1 };
  const low = Math.floor(Math.min(...logs));
  return { low, high: Math.max(low + 1, Math.ceil(Math.max(...logs))) };
}

/** Place of a value on a scale, 0 to 1. */
export function place(value: number, { low, high }: Scale): number {
  return (Math.log10(value) - low) / (high - low);
}

export interface Roof {
  peak: number;
  ridge: number;
}

/** Corners of a roof over the intensities of a scale: up along the bandwidth to the ridge, then flat. */
export function corners({ peak, ridge }: Roof, across: Scale): (readonly [number, number])[] {
  const [left, right] = [10 ** across.low, 10 ** across.high];
  const under = (intensity: number): number => Math.min(peak, (peak / ridge) * intensity);
  const inside = ridge > left && ridge < right ? [ridge] : [];
  return [left, ...inside, right].map((intensity) => [intensity, under(intensity)] as const);
}
