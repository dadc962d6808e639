/** The frame around every page: header, the page of the address, the help; and what is shown before a run is read. */

import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { CommunicationPage } from "../pages/communication/page";
import { ComparePage } from "../pages/compare/page";
import { FindingsPage } from "../pages/findings/page";
import { HealthPage } from "../pages/health/page";
import { MemoryPage } from "../pages/memory/page";
import { OperatorsPage } from "../pages/operators/page";
import { OverviewPage } from "../pages/overview/page";
import { TimelinePage } from "../timeline/page";
import { Header } from "./header";
import { Help } from "./help";
import { type Binding, bind, helpIsOpen } from "./keys";
import { NoPage } from "./no-page";
import { Notice } from "./notice";
import type { PageProps } from "./page-props";
import { type PageName, go, route } from "./router";
import { type Run, currentRun, followSession, lost, session } from "./session";
import { nextTheme } from "./settings";
import { t } from "./words";

const PAGE: Record<PageName, ComponentType<PageProps>> = {
  overview: OverviewPage,
  timeline: TimelinePage,
  operators: OperatorsPage,
  communication: CommunicationPage,
  memory: MemoryPage,
  findings: FindingsPage,
  compare: ComparePage,
  health: HealthPage,
};

const PAGE_KEYS: [string, PageName][] = [
  ["o", "overview"],
  ["t", "timeline"],
  ["p", "operators"],
  ["c", "communication"],
  ["m", "memory"],
  ["f", "findings"],
  ["d", "compare"],
  ["h", "health"],
];

const BINDINGS: Binding[] = [
  ...PAGE_KEYS.map(
    ([letter, page]): Binding => ({ keys: [`g ${letter}`], says: `page.${page}`, group: "help.pages", act: () => go(page) }),
  ),
  { keys: ["?"], says: "help.title", group: "help.everywhere", act: () => { helpIsOpen.value = !helpIsOpen.value; } },
  { keys: ["T"], says: "shell.theme", group: "help.everywhere", act: nextTheme },
];

export function App() {
  useEffect(() => bind(BINDINGS), []);
  const { page, unknown } = route.value;
  const run = currentRun.value;
  useEffect(() => {
    document.title = `${unknown === null ? t(`page.${page}`) : t("no-page.title")}${run ? ` \u00b7 ${run.name}` : ""} \u00b7 ascend-sn`;
  });
  return (
    <>
      <Header />
      {lost.value && <Notice error={lost.value} again={() => void followSession()} />}
      {unknown === null ? <Content key={`${page} ${run?.id ?? ""}`} /> : <NoPage named={unknown} />}
      <Help />
    </>
  );
}

function Content() {
  const run = currentRun.value;
  if (!session.value || !run) return <main id="main" class="page" aria-busy="true" />;
  if (run.state === "ready") {
    const Shown = PAGE[route.value.page];
    return <Shown run={run.id} />;
  }
  return <main id="main" class="page">{run.state === "reading" ? <Reading run={run} /> : <Failed run={run} />}</main>;
}

function Reading({ run }: { run: Run }) {
  const { done, total, text } = run.progress ?? { done: 0, total: 0, text: "" };
  return (
    <div class="card reading" role="status">
      <h1>{t("session.reading", { name: run.name })}</h1>
      <progress aria-label={t("session.progress")} {...(total > 0 ? { value: done, max: total } : {})} />
      <p class="soft">{text}</p>
    </div>
  );
}

function Failed({ run }: { run: Run }) {
  return (
    <div class="notice" role="alert">
      <b>{t("session.failed", { name: run.name })}</b>
      <p>{run.error}</p>
    </div>
  );
}
