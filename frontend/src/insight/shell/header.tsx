/** Run, pages, health of the data, language, light or dark, keys. */

import { useParts } from "../api/document";
import { helpIsOpen } from "./keys";
import { change, href, route } from "./router";
import { currentRun, offeredPages, session } from "./session";
import { language, nextLanguage, nextTheme, theme } from "./settings";
import { t } from "./words";

export function Header() {
  const runs = session.value?.runs ?? [];
  return (
    <header class="bar">
      <a class="skip" href="#main" onClick={skip}>
        {t("shell.skip")}
      </a>
      <div class="brand">
        <span class="mark" aria-hidden="true" />
        <span class="product">ascend-sn</span>
        {runs.length > 1 ? <RunSwitch /> : <span class="run-name">{runs[0]?.name ?? ""}</span>}
      </div>
      <nav aria-label={t("shell.pages")}>
        {offeredPages.value.map((page) => (
          <a key={page} href={href(page)} aria-current={route.value.unknown === null && route.value.page === page ? "page" : undefined}>
            {t(`page.${page}`)}
          </a>
        ))}
      </nav>
      <div class="tools">
        <HealthBadge />
        <button type="button" onClick={nextLanguage} lang={language.value === "en" ? "zh-CN" : "en"} class="language">
          {language.value === "en" ? "中文" : "English"}
        </button>
        <button type="button" onClick={nextTheme} class="theme" title={t("shell.theme")}>
          {t(`theme.${theme.value}`)}
        </button>
        <button type="button" class="question" aria-label={t("help.title")} title={t("help.title")} onClick={() => { helpIsOpen.value = true; }}>
          ?
        </button>
      </div>
    </header>
  );
}

function RunSwitch() {
  return (
    <select aria-label={t("shell.run")} value={currentRun.value?.id} onChange={(event) => change({ run: event.currentTarget.value })}>
      {session.value?.runs.map((run) => (
        <option key={run.id} value={run.id}>
          {run.id}: {run.name}
        </option>
      ))}
    </select>
  );
}

function HealthBadge() {
  const found = useParts("health").value?.health;
  if (!found) return null;
  const troubles = found.damage_count + found.silent_devices.length;
  return (
    <a class={`badge ${troubles ? "bad" : "good"}`} href={href("health")} title={t("page.health")}>
      <span aria-hidden="true">{troubles ? "!" : "\u2713"}</span> {troubles ? t("badge.troubled", { count: troubles }) : t("badge.good")}
    </a>
  );
}

/** The hash is the route, so the jump is done here. */
function skip(event: Event): void {
  event.preventDefault();
  const main = document.getElementById("main");
  main?.setAttribute("tabindex", "-1");
  main?.focus();
}
