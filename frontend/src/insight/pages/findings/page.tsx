/** What limits the run and what to do: gain first, then what was measured, then how to verify. */

import { quantityText } from "../../../text/quantities";
import { useParts } from "../../api/document";
import type { Document, Evidence, Finding, Findings, Suppressed } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card, Choice } from "../../controls/card";
import { breakable, cellText, columnText } from "../../controls/cells";
import { Page, Shown } from "../../controls/page";
import { type Places, findingHref, usePlaces } from "../../controls/places";
import { RowsTable } from "../../controls/rows-table";
import type { PageProps } from "../../shell/page-props";
import { change, parameters, text } from "../../shell/router";
import { reasonText, turnOnText } from "../../shell/reasons";
import { named, t } from "../../shell/words";
import { unitOf } from "../../controls/units";
import { GainBar, gainText, worthText } from "./gain";

type Told = Pick<Document, "findings" | "breakdown">;

export function FindingsPage({ run }: PageProps) {
  const places = usePlaces(run);
  return (
    <Page name="findings">
      <Shown asked={useParts("findings", "breakdown")}>{(document) => <Content document={document} places={places} />}</Shown>
    </Page>
  );
}

function Content({ document, places }: { document: Told; places: Places }) {
  const { topic, id } = parameters({ topic: text(), id: text() });
  const { findings } = document;
  if (!findings.collected) return <><h1>{t("page.findings")}</h1><Absent why={findings} /></>;
  const rows = findings.rows ?? [];
  const topics = [...new Set(rows.map((row) => row.topic))];
  const shown = rows.filter((row) => topic === "" || row.topic === topic);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{rows.length ? t("findings.count", { count: rows.length }) : t("findings.none")}</h1>
          <p class="soft">{t("findings.order")}</p>
        </div>
        {topics.length > 1 && (
          <Choice
            label={t("findings.topic")}
            choices={[["", t("findings.all")] as const, ...topics.map((one) => [one, named("topic", one)] as const)]}
            value={topic}
            choose={(one) => change({ topic: one, id: null })}
          />
        )}
      </div>
      {findings.plan && findings.plan.steps.length > 0 && <PlanCard plan={findings.plan} />}
      {shown.map((finding) => <FindingCard key={finding.id} finding={finding} document={document} places={places} open={finding.id === id} />)}
      <HeldBack findings={findings} document={document} places={places} />
      <Lacking findings={findings} />
      <Replay findings={findings} />
    </>
  );
}

function FindingCard({ finding, document, places, open }: { finding: Finding; document: Told; places: Places; open: boolean }) {
  return (
    <article class={`card finding ${finding.severity}`} id={finding.id} ref={(box) => { if (open) box?.scrollIntoView(); }}>
      <div class="card-head">
        <h2>
          <span class={`severity ${finding.severity}`}>{named("word", finding.severity)}</span> {finding.title}
          <small> {finding.id}</small>
        </h2>
        <a class="to-timeline" href={findingHref(places, document, finding.location, finding.evidence)}>{t("link.timeline")}</a>
      </div>
      <p class="worth">{worthText(finding)}</p>
      {finding.gain && <GainBar gain={finding.gain} />}
      <div class="finding-body">
        <div>
          <p>{finding.description}</p>
          <dl class="advice">
            <dt>{t("findings.do")}</dt>
            <dd>{finding.suggestion}</dd>
            <dt>{t("findings.verify")}</dt>
            <dd>{finding.next_step}</dd>
            <dt>{t("findings.effort")}</dt>
            <dd>{named("effort", finding.effort)}</dd>
            {finding.location.site && <><dt>{t("findings.site")}</dt><dd><code>{finding.location.site}</code></dd></>}
          </dl>
          {finding.gain?.remarks?.map((remark) => <p key={remark} class="soft small">{remark}</p>)}
        </div>
        {finding.evidence.length > 0 && <EvidenceTable title={t("findings.evidence-of", { title: finding.title })} rows={finding.evidence} />}
      </div>
    </article>
  );
}

/** Where all figures are from one place, it is said once, not in every row. */
function EvidenceTable({ title, rows }: { title: string; rows: readonly Evidence[] }) {
  const places = new Set(rows.map(whereText));
  return (
    <div>
      <RowsTable
        title={title}
        rows={rows}
        columns={[
          { title: t("findings.figure"), left: true, text: (row) => columnText(row.name) },
          { title: t("findings.value"), text: valueText },
          { title: t("findings.source"), left: true, text: (row) => breakable(row.source) },
          ...(places.size > 1 ? [{ title: t("findings.where"), left: true, text: whereText }] : []),
        ]}
      />
      {places.size === 1 && !places.has("-") && <p class="soft small">{t("findings.all-from", { where: [...places].join() })}</p>}
    </div>
  );
}

/** A figure stays on its line; a long name is broken. */
function valueText(row: Evidence) {
  const text = cellText(row.value, unitOf(row.name));
  return <span class={text.length > 24 ? "value" : "figure"}>{text}</span>;
}

function whereText(row: Evidence): string {
  const ranks = row.ranks?.length ? t("findings.ranks", { ranks: row.ranks.slice(0, 8).join(", ") }) : "";
  const steps = row.steps?.length ? t("findings.steps", { steps: row.steps.slice(0, 8).join(", ") }) : "";
  return [ranks, steps].filter(Boolean).join(", ") || "-";
}

function PlanCard({ plan }: { plan: NonNullable<Findings["plan"]> }) {
  return (
    <Card title={t("findings.plan")} note={t("findings.plan-note", { base: quantityText(plan.base_ns, "ns") })}>
      <RowsTable
        title={t("findings.plan")}
        rows={plan.steps}
        columns={[
          { title: t("findings.change"), left: true, text: (row) => `${row.rule} ${row.title}` },
          { title: t("findings.effort"), left: true, text: (row) => named("effort", row.effort) },
          { title: t("findings.low"), text: (row) => quantityText(row.low_ns, "ns") },
          { title: t("findings.expected"), text: (row) => quantityText(row.expected_ns, "ns") },
          { title: t("findings.high"), text: (row) => quantityText(row.high_ns, "ns") },
          { title: t("findings.then"), text: (row) => quantityText(row.step_ns, "ns") },
          { title: t("findings.confidence"), left: true, text: (row) => named("confidence", row.confidence) },
        ]}
      />
    </Card>
  );
}

function HeldBack({ findings, document, places }: { findings: Findings; document: Told; places: Places }) {
  const rows = findings.suppressed ?? [];
  if (!rows.length) return null;
  return (
    <details class="card">
      <summary>{t("findings.held", { count: rows.length })}</summary>
      <p class="note">{t("findings.held-note")}</p>
      <RowsTable<Suppressed>
        title={t("findings.held", { count: rows.length })}
        rows={rows}
        columns={[
          { title: t("findings.rule"), left: true, text: (row) => <>{row.title} <small class="soft">{row.id}</small></> },
          { title: t("findings.reason"), left: true, text: (row) => row.reason },
          { title: t("findings.said"), left: true, text: (row) => <>{row.description}{row.gain ? ` ${gainText(row.gain, "")}` : ""}</> },
          { title: t("link.timeline"), text: (row) => <a href={findingHref(places, document, row.location, row.evidence)} aria-label={t("link.timeline-of", { name: row.title })}>{"\u2197"}</a> },
        ]}
      />
    </details>
  );
}

function Lacking({ findings }: { findings: Findings }) {
  const rows = findings.lacking ?? [];
  const quiet = findings.quiet ?? [];
  return (
    <>
      {rows.length > 0 && (
        <details class="card">
          <summary>{t("findings.lacking", { count: rows.length })}</summary>
          <RowsTable
            title={t("findings.lacking", { count: rows.length })}
            rows={rows}
            columns={[
              { title: t("findings.rule"), left: true, text: (row) => <>{row.title} <small class="soft">{row.rule}</small></> },
              { title: t("findings.lacks"), left: true, text: (row) => <code>{row.what}</code> },
              { title: t("findings.reason"), left: true, text: (row) => reasonText(row.reason) || "-" },
              { title: t("findings.turn-on"), left: true, text: (row) => (row.turn_on ? <code>{turnOnText(row.turn_on)}</code> : "-") },
            ]}
          />
        </details>
      )}
      {quiet.length > 0 && (
        <details class="card">
          <summary>{t("findings.quiet", { count: quiet.length })}</summary>
          <p>{quiet.join(", ")}</p>
        </details>
      )}
    </>
  );
}

function Replay({ findings }: { findings: Findings }) {
  const replay = findings.replay;
  if (!replay) return null;
  return (
    <details class="card">
      <summary>{t("findings.replay")}</summary>
      <p>
        {t("findings.replayed", {
          base: quantityText(replay.base_ns, "ns"),
          observed: quantityText(replay.observed_ns, "ns"),
          error: quantityText(replay.identity_error_ratio, "ratio"),
          confidence: named("confidence", replay.confidence),
        })}
      </p>
      {[replay.refused, ...replay.remarks].filter(Boolean).map((remark) => <p key={remark} class="soft">{remark}</p>)}
    </details>
  );
}
