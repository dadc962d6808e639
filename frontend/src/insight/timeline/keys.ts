/** Keys of the timeline: the same as in MindStudio Insight and Perfetto where they have them. */

export type Action =
  | "zoom-in" | "zoom-out" | "left" | "right" | "lane-up" | "lane-down" | "page-up" | "page-down"
  | "fit" | "range" | "range-window" | "mark" | "align-left" | "align-right" | "undo" | "reset"
  | "search" | "next-hit" | "previous-hit" | "previous-slice" | "next-slice" | "deeper" | "higher"
  | "follow" | "follow-back" | "panel" | "pin" | "hide" | "fold" | "table" | "clear";

/** As `KeyboardEvent.key`; letters with Shift are capitals. With Shift what moves goes further. */
export const KEYS: Readonly<Record<Action, readonly string[]>> = {
  "zoom-in": ["w", "W", "+"],
  "zoom-out": ["s", "S", "-"],
  left: ["a", "A", "ArrowLeft"],
  right: ["d", "D", "ArrowRight"],
  "lane-up": ["ArrowUp"],
  "lane-down": ["ArrowDown"],
  "page-up": ["PageUp"],
  "page-down": ["PageDown"],
  "previous-slice": ["["],
  "next-slice": ["]"],
  higher: ["{"],
  deeper: ["}"],
  follow: ["Enter"],
  "follow-back": ["e"],
  fit: ["f"],
  range: ["m"],
  "range-window": ["M"],
  mark: ["k"],
  "align-left": ["l"],
  "align-right": ["r"],
  undo: ["Backspace"],
  reset: ["0", "Ctrl+0"],
  search: ["/", "Ctrl+f"],
  "next-hit": ["n"],
  "previous-hit": ["N"],
  pin: ["p"],
  hide: ["h"],
  fold: ["z"],
  table: ["t"],
  panel: ["q"],
  clear: ["Escape"],
};

export const ACTIONS = Object.keys(KEYS) as Action[];

/** Whether a view that moves goes further. */
export function isFast(pressed: { key: string; shiftKey: boolean }): boolean {
  return pressed.shiftKey && (pressed.key.length > 1 || /[A-Z]/.test(pressed.key));
}
