/** What each key does on the timeline. */

import type { Binding } from "../shell/keys";
import type { WordKey } from "../shell/words";
import type { Controls } from "./controls";
import { type Action, KEYS, isFast } from "./keys";

const GROUPS: readonly [group: WordKey, actions: readonly Action[]][] = [
  ["timeline.help.window", ["zoom-in", "zoom-out", "left", "right", "fit", "reset", "undo"]],
  ["timeline.help.lanes", ["lane-up", "lane-down", "page-up", "page-down", "pin", "hide", "fold"]],
  ["timeline.help.slices", ["previous-slice", "next-slice", "higher", "deeper", "follow", "follow-back", "align-left", "align-right"]],
  ["timeline.help.find", ["search", "next-hit", "previous-hit", "range", "range-window", "mark", "table", "panel", "clear"]],
];

export function bindingsOf(controls: Controls): Binding[] {
  const acts = actsOf(controls);
  return GROUPS.flatMap(([group, actions]) =>
    actions.map((action): Binding => ({ keys: KEYS[action], says: `timeline-key.${action}`, group, act: acts[action] })),
  );
}

function actsOf(controls: Controls): Record<Action, (event: KeyboardEvent) => void> {
  const { model, mover, chooser, ranger, searcher, marker, aligner } = controls;
  const scroll = (by: number): void => {
    const room = model.height.peek() - model.tree.peek().pinnedHeight;
    const most = Math.max(0, model.tree.peek().height - room);
    model.scrollTop.value = Math.min(most, Math.max(0, model.scrollTop.peek() + by * room * 0.85));
  };
  const lane = (act: (id: string) => void): void => {
    const id = model.lane.peek();
    if (id !== null) act(id);
  };
  return {
    "zoom-in": (event) => mover.press("zoom-in", isFast(event), event),
    "zoom-out": (event) => mover.press("zoom-out", isFast(event), event),
    left: (event) => mover.press("left", isFast(event), event),
    right: (event) => mover.press("right", isFast(event), event),
    "lane-up": () => chooser.lane(-1),
    "lane-down": () => chooser.lane(1),
    "page-up": () => scroll(-1),
    "page-down": () => scroll(1),
    fit: () => chooser.frame(),
    range: () => ranger.ofSlice(),
    "range-window": () => ranger.ofWindow(),
    mark: () => marker.add(controls.moment()),
    "align-left": () => aligner.edge("left"),
    "align-right": () => aligner.edge("right"),
    undo: () => mover.back(),
    reset: () => mover.reset(),
    search: () => controls.openSearch(),
    "next-hit": () => searcher.go(1),
    "previous-hit": () => searcher.go(-1),
    "previous-slice": () => chooser.neighbour("previous"),
    "next-slice": () => chooser.neighbour("next"),
    higher: () => chooser.depth(-1),
    deeper: () => chooser.depth(1),
    follow: () => chooser.follow(),
    "follow-back": () => chooser.followBack(),
    panel: () => controls.togglePanel(),
    pin: () => lane((id) => controls.pin(id)),
    hide: () => lane((id) => controls.hide(id)),
    fold: () => lane((id) => controls.foldAround(id)),
    table: () => controls.panel("table"),
    clear: () => controls.clear(),
  };
}
