/** An address that names no page: says so, and offers the pages. */

import { href } from "./router";
import { offeredPages } from "./session";
import { t } from "./words";

const LONGEST = 80;

export function NoPage({ named }: { named: string }) {
  const shown = named.length > LONGEST ? `${named.slice(0, LONGEST)}\u2026` : named;
  return (
    <main id="main" class="page">
      <section class="card" role="alert">
        <h1>{t("no-page.title")}</h1>
        <p>{t("no-page.named", { named: shown })}</p>
        <ul>
          {offeredPages.value.map((page) => <li key={page}><a href={href(page)}>{t(`page.${page}`)}</a></li>)}
        </ul>
      </section>
    </main>
  );
}
