/** Numbers with units as text, as `ascend_sn.report.words.quantities` writes them, and back. */

export type Unit = "ns" | "bytes" | "bytes_per_s" | "ratio" | "count";

type Scale = readonly (readonly [number, string])[];

const TIME: Scale = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
const BYTES: Scale = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const RATE: Scale = [[1e12, "TB/s"], [1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]];
const FACTORS = new Map([...TIME, ...BYTES, ...RATE, [0.01, "%"] as const].map(([factor, unit]) => [unit, factor]));
const QUANTITY = /^[~<>]?\s*([-+]?[\d,]*\.?\d+)\s*([a-zA-Z]+(?:\/s)?|%)?(?=$|[\s(])/;

export function quantityText(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined) return "-";
  if (unit === "ns") return scaled(value, TIME);
  if (unit === "bytes") return scaled(value, BYTES);
  if (unit === "bytes_per_s") return scaled(value, RATE);
  if (unit === "ratio") return percentText(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** As on an axis: nothing needs no unit, and a round place no digits that are zero. */
export function axisText(value: number, unit: Unit): string {
  return value === 0 ? "0" : quantityText(value, unit).replace(/(\.\d*?)0+(?= )/, "$1").replace(/\.(?= )/, "");
}

export function percentText(ratio: number): string {
  const percent = 100 * ratio;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  if (percent >= 99.5 && percent < 100) return ">99 %";
  return Math.abs(percent) >= 9.95 || percent === 0 ? `${percent.toFixed(0)} %` : `${percent.toFixed(1)} %`;
}

/** Reads the leading quantity of a text in base units; null where it begins with none. */
export function quantityOf(text: string): number | null {
  const found = QUANTITY.exec(text.trim());
  if (!found?.[1]) return null;
  const factor = found[2] === undefined ? 1 : FACTORS.get(found[2]);
  return factor === undefined ? null : Number(found[1].replaceAll(",", "")) * factor;
}

/** Round positions from 0 to `end`, at most about `count` of them; bytes in binary steps. */
export function ticks(end: number, unit: Unit, count = 5): number[] {
  if (!(end > 0)) return [0];
  const raw = end / count;
  const step = unit === "bytes" ? 2 ** Math.ceil(Math.log2(raw)) : decimalStep(raw);
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, number) => number * step);
}

function decimalStep(raw: number): number {
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 5, 10].find((factor) => factor * magnitude >= raw * (1 - 1e-9)) ?? 10) * magnitude;
}

function scaled(value: number, scale: Scale): string {
  const size = Math.abs(value);
  const sign = value < 0 ? "-" : "";
  for (const [factor, unit] of scale) {
    if (factor === 1) break;
    if (size >= 0.9995 * factor) return `${sign}${threeDigits(size / factor)} ${unit}`;
  }
  return `${sign}${size.toFixed(0)} ${scale[scale.length - 1]?.[1] ?? ""}`;
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}
