/** What the reader chose for all runs: language and light or dark. Kept where the browser allows it. */

import { effect, signal } from "@preact/signals";
import type { Language } from "../../generated/words";

export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];
const LANGUAGE_KEY = "ascend-sn-language";
const THEME_KEY = "ascend-sn-appearance"; // the same as in reports

export const language = signal<Language>(firstLanguage());
export const theme = signal<Theme>(THEMES.find((one) => one === kept(THEME_KEY)) ?? "system");

/** Changes whenever colours do, so that canvases draw anew. */
export const colours = signal(0);

export function startSettings(): void {
  effect(() => {
    document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
    keep(LANGUAGE_KEY, language.value);
  });
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme.value;
    keep(THEME_KEY, theme.value);
    colours.value = colours.peek() + 1;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours.value += 1;
  });
}

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

export function nextLanguage(): void {
  language.value = language.value === "en" ? "zh" : "en";
}

function firstLanguage(): Language {
  const asked = new URLSearchParams(location.search).get("lang") ?? kept(LANGUAGE_KEY) ?? navigator.language;
  return asked.toLowerCase().startsWith("zh") ? "zh" : "en";
}

function kept(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // then it holds for this page only
  }
}
