/** Where the reader is: `#/<page>?run=a&...`. Every state of a view is in the address; each page owns its parameters. */

import { computed, signal } from "@preact/signals";

export const PAGES = ["overview", "timeline", "operators", "communication", "memory", "findings", "compare", "health"] as const;

export type PageName = (typeof PAGES)[number];
export type Given = Readonly<Record<string, string>>;
export type Changes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Route {
  page: PageName;
  /** What the address names instead of a page; null where it names one, or nothing. */
  unknown: string | null;
  /** Parameters by name, `run` among them. */
  given: Given;
}

export const route = signal<Route>(parsed(location.hash));

/** The run that is looked at; empty before the session is known means the first. */
export const chosenRun = computed(() => route.value.given["run"] ?? "");

export function startRouter(): void {
  addEventListener("hashchange", () => {
    route.value = parsed(location.hash);
  });
}

export function parsed(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const page = PAGES.find((one) => one === path);
  return { page: page ?? "overview", unknown: page || path === "" ? null : path, given: Object.fromEntries(new URLSearchParams(query)) };
}

/** Address of a page; the run stays unless another is given. */
export function href(page: PageName, changes: Changes = {}): string {
  return written(page, { run: chosenRun.value, ...changes });
}

export function go(page: PageName, changes: Changes = {}): void {
  location.hash = href(page, changes);
}

/** Changes parameters of the page that is shown; what is null or empty is taken out. Without a step back in history. */
export function change(changes: Changes): void {
  const { page, given } = route.peek();
  const address = written(page, { ...given, ...changes });
  if (address === location.hash) return;
  history.replaceState(null, "", address);
  route.value = parsed(address);
}

function written(page: PageName, values: Changes): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "" || value === false) continue;
    words.set(name, value === true ? "1" : String(value));
  }
  const query = words.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return `#/${page}${query ? `?${query}` : ""}`;
}

export interface Parameter<T> {
  (text: string | undefined): T;
}

export const text =
  (otherwise = ""): Parameter<string> =>
  (given) =>
    given ?? otherwise;

export const number =
  (otherwise: number | null = null): Parameter<number | null> =>
  (given) =>
    given !== undefined && given !== "" && Number.isFinite(Number(given)) ? Number(given) : otherwise;

export const flag: Parameter<boolean> = (given) => given === "1";

export const oneOf =
  <T extends string>(...choices: readonly [T, ...T[]]): Parameter<T> =>
  (given) =>
    choices.find((one) => one === given) ?? choices[0];

/** The parameters of a page, typed: what is missing or wrong takes its default. */
export function parameters<S extends Record<string, Parameter<unknown>>>(schema: S): { [K in keyof S]: ReturnType<S[K]> } {
  const { given } = route.value;
  const read = Object.entries(schema).map(([name, parameter]) => [name, parameter(given[name])]);
  return Object.fromEntries(read) as { [K in keyof S]: ReturnType<S[K]> };
}
