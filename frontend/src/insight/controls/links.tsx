/** From a figure to the slices that it comes from. */

import type { ComponentChildren } from "preact";
import { type Changes, href } from "../shell/router";
import { t } from "../shell/words";

export interface Target {
  table: string;
  profile: number;
  key: string | number;
}

/** Address of a slice on the timeline, by the row of the table that it comes from. */
export function sliceHref({ table, profile, key }: Target): string {
  return href("timeline", { find: `${table}:${profile}:${key}`, frame: true });
}

export function TimelineLink({ to, changes, children, label }: { to?: Target; changes?: Changes; children?: ComponentChildren; label?: string }) {
  return (
    <a class="to-timeline" href={to ? sliceHref(to) : href("timeline", changes)} title={t("link.timeline")} aria-label={label}>
      {children ?? t("link.timeline")}
    </a>
  );
}
