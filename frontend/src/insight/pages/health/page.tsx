/** Whether the data can be believed: damage, what was not collected and how to turn it on, ranks, clocks, checks. */

import { useParts } from "../../api/document";
import type { Health } from "../../api/types";
import { quantityText } from "../../../text/quantities";
import { Card } from "../../controls/card";
import { breakable } from "../../controls/cells";
import { Page, Shown } from "../../controls/page";
import { rankText } from "../../controls/rank-select";
import { RowsTable } from "../../controls/rows-table";
import { ServerTable } from "../../controls/server-table";
import type { PageProps } from "../../shell/page-props";
import { reasonText, turnOnText } from "../../shell/reasons";
import { named, t } from "../../shell/words";

export function HealthPage({ run }: PageProps) {
  return (
    <Page name="health">
      <Shown asked={useParts("health")}>
        {({ health }) => (
          <>
            <Summary health={health} />
            {health.not_collected.length > 0 && <NotCollected health={health} />}
            {(health.differences ?? []).length > 0 && <Differences health={health} />}
          </>
        )}
      </Shown>
      <Card title={t("health-page.damage")} note={t("health-page.damage-note")}>
        <ServerTable run={run} name="damage" title={t("health-page.damage")} />
      </Card>
      <Card title={t("health-page.checks")} note={t("health-page.checks-note")}>
        <ServerTable run={run} name="checks" title={t("health-page.checks")} />
      </Card>
      <Card title={t("health-page.clocks")} note={t("health-page.clocks-note")}>
        <ServerTable run={run} name="clocks" title={t("health-page.clocks")} searchable={false} />
      </Card>
      <Card title={t("overview.ranks")}>
        <ServerTable run={run} name="profiles" title={t("overview.ranks")} />
      </Card>
      <Card title={t("health-page.coverage")} note={t("health-page.coverage-note")}>
        <ServerTable run={run} name="coverage" title={t("health-page.coverage")} />
      </Card>
    </Page>
  );
}

function Summary({ health }: { health: Health }) {
  const ranks = health.ranks;
  const lines = [health.damage_count ? t("health-page.damaged", { count: health.damage_count }) : t("health-page.undamaged")];
  if (health.silent_devices.length) lines.push(t("health-page.silent", { ranks: health.silent_devices.map((one) => rankText(one.rank)).slice(0, 16).join(", ") }));
  if (ranks) {
    const params = { present: ranks.present, expected: ranks.expected ?? 0 };
    lines.push(ranks.expected === null ? t("health-page.ranks", params) : t(ranks.expected_is_exact ? "health-page.ranks-of" : "health-page.ranks-of-at-least", params));
    if (ranks.missing_ranks.length) lines.push(t("health-page.missing", { ranks: ranks.missing_ranks.join(", ") }));
    if (ranks.duplicate_ranks.length) lines.push(t("health-page.duplicate", { ranks: ranks.duplicate_ranks.join(", ") }));
    if (ranks.unknown_rank_count) lines.push(t("health-page.unknown", { count: ranks.unknown_rank_count }));
  }
  if (health.score !== null) lines.push(t((ranks?.present ?? 1) > 1 ? "health-page.score-worst" : "health-page.score", { score: quantityText(health.score, "ratio"), rows: health.rows_checked }));
  const troubled = health.damage_count + health.silent_devices.length > 0;
  return (
    <section class={`card verdict ${troubled ? "bad" : "good"}`}>
      <h1>{lines[0]}</h1>
      {lines.slice(1).map((line) => <p key={line}>{line}</p>)}
    </section>
  );
}

function NotCollected({ health }: { health: Health }) {
  return (
    <Card title={t("health-page.not-collected")} note={t("health-page.not-collected-note")}>
      <RowsTable
        title={t("health-page.not-collected")}
        rows={health.not_collected}
        columns={[
          { title: t("col.table_name"), left: true, text: (row) => <code>{breakable(row.column === null ? row.table : `${row.table}.${row.column}`)}</code> },
          { title: t("col.state"), left: true, text: (row) => named("absent", row.state) },
          { title: t("col.reason"), left: true, text: (row) => reasonText(row.reason) || "-" },
          { title: t("col.turn_on"), left: true, text: (row) => (row.turn_on ? <code>{turnOnText(row.turn_on)}</code> : "-") },
          { title: t("fact.profiles"), text: (row) => row.profile_count },
        ]}
      />
    </Card>
  );
}

function Differences({ health }: { health: Health }) {
  return (
    <Card title={t("health-page.differences")} note={t("health-page.differences-note")}>
      <RowsTable
        title={t("health-page.differences")}
        rows={health.differences ?? []}
        columns={[
          { title: t("health-page.setting"), left: true, text: (row) => row.setting },
          { title: t("health-page.usual"), left: true, text: (row) => row.usual_value },
          { title: t("health-page.other"), left: true, text: (row) => row.other_value },
          { title: t("fact.ranks"), left: true, text: (row) => row.other_ranks },
        ]}
      />
    </Card>
  );
}
