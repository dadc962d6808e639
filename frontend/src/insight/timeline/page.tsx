/** The timeline of the run. */

import { t } from "../shell/words";

export function TimelinePage({ run }: { run: string }) {
  return (
    <main id="main" class="page" data-run={run}>
      <h1>{t("page.timeline")}</h1>
    </main>
  );
}
