/**
 * Why something was not collected, what collects it, and what was damaged, in the reader's language. The data say it in
 * English: the English text of the families `reason`, `turn-on` and `example` is what is looked for, as
 * `report/words/reasons.py` does.
 */

import { WORDS, type WordKey } from "../../generated/words";
import { language } from "./settings";
import { isWord, textOf } from "./words";

type Family = "example" | "reason" | "turn-on";

/** Placeholders that stand for such a sentence themselves. */
const INSIDE = new Set(["reason", "option", "example", "problem"]);

const known = new Map<Family, readonly (readonly [key: WordKey, pattern: RegExp])[]>();

/** Why something is absent; a sentence that is not known stays as it is. */
export function reasonText(reason: string): string {
  return told(reason, "reason");
}

/** What collects it; what is code stays code. */
export function turnOnText(turnOn: string): string {
  return told(turnOn, "turn-on");
}

/** The example of a damaged row; one that is not known is data and stays as it is. */
export function exampleText(example: string): string {
  return told(example, "example");
}

function told(said: string, family: Family): string {
  if (language.value === "en" || !said) return said;
  for (const [key, pattern] of patterns(family)) {
    const parts = pattern.exec(said);
    if (!parts) continue;
    const groups = Object.entries(parts.groups ?? {}).map(([name, part]) => [name, INSIDE.has(name) ? told(part, family) : part]);
    return textOf(key, language.value, Object.fromEntries(groups) as Record<string, string>);
  }
  return said;
}

/** Patterns of the English texts, those with most words of their own first. */
function patterns(family: Family): readonly (readonly [WordKey, RegExp])[] {
  const made = known.get(family);
  if (made) return made;
  const keys = Object.keys(WORDS).filter((key): key is WordKey => isWord(key) && key.startsWith(`${family}.`));
  const ordered = keys.map((key) => [key, String(WORDS[key].en)] as const).sort(([, one], [, other]) => own(other) - own(one));
  const found = ordered.map(([key, text]) => [key, new RegExp(`^${patternOf(text)}$`, "s")] as const);
  known.set(family, found);
  return found;
}

function own(text: string): number {
  return text.replaceAll(/\{\w+\}/g, "").length;
}

function patternOf(text: string): string {
  return text
    .split(/\{(\w+)\}/)
    .map((part, at) => (at % 2 ? `(?<${part}>${part === "count" ? "\\d+" : ".+?"})` : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")))
    .join("");
}
