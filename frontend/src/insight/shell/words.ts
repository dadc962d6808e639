/** Texts of the page, by key, in the language of the reader; the dictionary is made from the catalogues. */

import { type Language, WORDS, type WordKey } from "../../generated/words";
import { language } from "./settings";

export type { WordKey } from "../../generated/words";

export type Params = Record<string, string | number>;

export function t(key: WordKey, params: Params = {}): string {
  return textOf(key, language.value, params);
}

export function isWord(key: string): key is WordKey {
  return key in WORDS;
}

/** A text whose key is put together from a word of the data; where there is none, the word itself. */
export function named(family: string, word: string): string {
  const found = [word, word.replaceAll(/[_ ]/g, "-")].map((one) => `${family}.${one}`).find(isWord);
  return found === undefined ? word.replaceAll("_", " ") : t(found);
}

export function textOf(key: WordKey, code: Language, params: Params = {}): string {
  const word = WORDS[key][code];
  const text = typeof word === "string" ? word : (word[code === "en" && params["count"] !== 1 ? 1 : 0] ?? word[0] ?? "");
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    return value === undefined ? whole : typeof value === "number" ? value.toLocaleString("en-US") : value;
  });
}
