/** The way from all calls to the one that is shown as the whole. */

import { t } from "../shell/words";
import { shortName } from "./nested";

export interface Crumb {
  id: number;
  name: string;
}

export function Crumbs({ above, isWhole, go }: { above: readonly Crumb[]; isWhole: boolean; go: (id: number | null) => void }) {
  const here = above.at(-1);
  return (
    <nav class="crumbs" aria-label={t("calls.above")}>
      {isWhole ? <span aria-current="true">{t("calls.all")}</span> : <button type="button" onClick={() => go(null)}>{t("calls.all")}</button>}
      {!isWhole && above.map((one) => (
        <span key={one.id}>
          <span aria-hidden="true"> {"\u203a"} </span>
          {one === here ? <span aria-current="true">{shortName(one.name)}</span> : <button type="button" title={one.name} onClick={() => go(one.id)}>{shortName(one.name)}</button>}
        </span>
      ))}
    </nav>
  );
}
