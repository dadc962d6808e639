/** The verdict first, what to do about it, where the step goes; then what it rests on. */

import { quantityText } from "../../../text/quantities";
import { useParts } from "../../api/document";
import { useProfiles } from "../../api/profiles";
import type { Document } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card } from "../../controls/card";
import { Page, Shown } from "../../controls/page";
import { type Places, findingHref, usePlaces } from "../../controls/places";
import { ServerTable } from "../../controls/server-table";
import type { PageProps } from "../../shell/page-props";
import { href } from "../../shell/router";
import { named, t } from "../../shell/words";
import { worthText } from "../findings/gain";
import { BreakdownCard, PhasesCard } from "./breakdown";
import { ClusterCard } from "./cluster";
import { PathCard } from "./path";
import { RankMapCard } from "./rank-map";

const FIRST = 4;

const PARTS = [
  "verdict", "job", "jobs", "capture_ns", "health", "cluster", "steps", "breakdown", "operators", "memory", "critical_path", "findings",
] as const;
type Told = Pick<Document, (typeof PARTS)[number]>;

/** What summaries tell is there at once, also while the verdict is still worked out. */
export function OverviewPage({ run }: PageProps) {
  const places = usePlaces(run);
  const profiles = useProfiles(run);
  const asked = useParts(...PARTS);
  const document = asked.value;
  return (
    <Page name="overview">
      {document && !asked.error ? <Lead document={document} places={places} /> : <section class="card verdict"><Shown asked={asked}>{() => null}</Shown></section>}
      {document?.cluster && <ClusterCard cluster={document.cluster} />}
      {profiles.length > 1 && <RankMapCard run={run} />}
      {document && <BreakdownCard run={run} breakdown={document.breakdown} />}
      {document && <PhasesCard breakdown={document.breakdown} />}
      <div class="pair">
        <Card title={t("overview.free")} note={t("overview.free-note")}>
          <ServerTable run={run} name="free_time_causes" title={t("overview.free")} without={["scope"]} rows={10} />
        </Card>
        {document?.critical_path && <PathCard path={document.critical_path} />}
      </div>
      <Card title={t("overview.ranks")}>
        <ServerTable run={run} name="profiles" title={t("overview.ranks")} rows={10} />
      </Card>
      <div class="pair">
        <Card title={t("overview.mfu")} note={t("overview.mfu-note")}>
          <ServerTable run={run} name="mfu" title={t("overview.mfu")} rows={10} searchable={false} />
        </Card>
        <Card title={t("overview.groups")} note={t("overview.groups-note")}>
          <ServerTable run={run} name="parallel_groups" title={t("overview.groups")} rows={10} />
        </Card>
      </div>
    </Page>
  );
}

function Lead({ document, places }: { document: Told; places: Places }) {
  return (
    <div class="lead">
      <div class="said">
        <Verdict document={document} />
        <Facts document={document} />
      </div>
      <First document={document} places={places} />
    </div>
  );
}

function Verdict({ document }: { document: Told }) {
  const [headline, ...others] = document.verdict;
  return (
    <section class="card verdict" aria-label={t("overview.verdict")}>
      <h1>{headline?.text ?? t("overview.no-verdict")}</h1>
      {others.map((one) => <p key={one.text}>{one.text}</p>)}
      {document.jobs.length > 0 && <p class="soft">{t("overview.jobs", { count: document.jobs.length, job: document.job })}</p>}
    </section>
  );
}

function First({ document, places }: { document: Told; places: Places }) {
  const rows = document.findings.rows ?? [];
  return (
    <section class="card first" aria-labelledby="first-title">
      <h2 id="first-title">{t("overview.first")}</h2>
      {rows.length === 0 && <p class="soft">{document.findings.collected ? t("findings.none") : ""}</p>}
      {!document.findings.collected && <Absent why={document.findings} />}
      <ol>
        {rows.slice(0, FIRST).map((finding) => (
          <li key={finding.id}>
            <a class="finding-title" href={href("findings", { id: finding.id })}>{finding.title}</a>
            <small>
              <span class={`severity ${finding.severity}`}>{named("word", finding.severity)}</span> {worthText(finding)}{" "}
              <a href={findingHref(places, document, finding.location, finding.evidence)} aria-label={t("link.timeline-of", { name: finding.title })}>{t("link.timeline")}</a>
            </small>
          </li>
        ))}
      </ol>
      {rows.length > FIRST && <a href={href("findings")}>{t("overview.all-findings", { count: rows.length })}</a>}
    </section>
  );
}

function Facts({ document }: { document: Told }) {
  const { operators, memory, health } = document;
  const peak = memory.peaks?.[0];
  const size = peak?.peak_reserved_bytes ?? peak?.peak_allocated_bytes;
  const ranks = health.ranks;
  const facts: [string, string, string][] = [];
  if (ranks) {
    const of = ranks.expected === null ? "" : t(ranks.expected_is_exact ? "fact.of" : "fact.of-at-least", { count: ranks.expected });
    facts.push([t("fact.ranks"), quantityText(ranks.present, "count"), of]);
  }
  if (document.steps.job_step_count) facts.push([t("fact.steps"), quantityText(document.steps.job_step_count, "count"), ""]);
  if (document.capture_ns !== null) facts.push([t("fact.capture"), quantityText(document.capture_ns, "ns"), ""]);
  if (operators.kernel_calls != null) facts.push([t("fact.kernels"), quantityText(operators.kernel_calls, "count"), t("fact.kinds", { count: operators.kernel_type_count ?? 0 })]);
  if (operators.operator_calls != null) facts.push([t("fact.operators"), quantityText(operators.operator_calls, "count"), t("fact.kinds", { count: operators.operator_count ?? 0 })]);
  if (size != null) facts.push([t("fact.memory"), quantityText(size, "bytes"), peak?.component ?? ""]);
  return (
    <dl class="facts">
      {facts.map(([what, much, more]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>{much}{more && <small> {more}</small>}</dd>
        </div>
      ))}
    </dl>
  );
}
