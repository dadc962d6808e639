/** Chains of kernels that became one (or were split) between the runs: before, after, how often, and what it brought. */

import { quantityText } from "../../../text/quantities";
import { useAsked } from "../../api/asked";
import { apiUrl } from "../../api/client";
import type { FusedAnswer, FusedChain } from "../../api/types";
import { Absent } from "../../controls/absent";
import { Card } from "../../controls/card";
import { Pending } from "../../controls/pending";
import { RowsTable } from "../../controls/rows-table";
import { Notice } from "../../shell/notice";
import { href } from "../../shell/router";
import { t } from "../../shell/words";

const PATH = "fused-changes";

export function FusedCard({ base, candidate }: { base: string; candidate: string }) {
  const asked = { base, candidate };
  const { value, error, again } = useAsked<FusedAnswer>(PATH, asked);
  return (
    <Card title={t("compare.fused.title")} note={t("compare.fused.note")}>
      {error !== null && <Notice error={error} again={again} />}
      {!value ? error === null && <Pending text={t("table.loading")} /> : value.state !== "collected" ? <Absent why={value} /> : <Chains value={value} base={base} candidate={candidate} csv={apiUrl(PATH, { ...asked, format: "csv" })} />}
    </Card>
  );
}

function Chains({ value, base, candidate, csv }: { value: FusedAnswer; base: string; candidate: string; csv: string }) {
  if (value.rank_count === 0) return <p class="absent">{t("compare-fused.no-ranks")}</p>;
  const isAnyAligned = value.unlike_count < value.rank_count;
  return (
    <>
      {isAnyAligned && <p role="status">{said(value)}</p>}
      {value.unlike_count > 0 && <p class="absent">{t("compare.fused.unlike", { count: value.unlike_count, ranks: value.rank_count })}</p>}
      {value.chains.length > 0 && (
        <>
          <p class="table-bar">
            <span class="soft">{t("table.rows", { count: value.chains.length })}</span> <a class="download" href={csv} download="fused.csv">CSV</a>
          </p>
          <RowsTable<FusedChain>
            title={t("compare.fused.title")}
            rows={value.chains}
            columns={[
              { title: t("compare.fused.state"), left: true, text: (row) => t(`compare.fused.${row.state}`) },
              { title: t("compare.fused.chain-before"), left: true, text: (row) => <span class="chain">{row.before}</span> },
              { title: t("compare.fused.chain-after"), left: true, text: (row) => <span class="chain">{row.after}</span> },
              { title: t("compare.fused.kernels"), text: (row) => `${row.before_kernels} \u2192 ${row.after_kernels}` },
              { title: t("compare.fused.count"), text: (row) => quantityText(row.count, "count") },
              { title: t("compare-page.before"), text: (row) => quantityText(row.before_ns, "ns") },
              { title: t("compare-page.after"), text: (row) => quantityText(row.after_ns, "ns") },
              { title: t("compare.fused.gain"), text: (row) => <span class={row.gain_ns > 0 ? "less" : row.gain_ns < 0 ? "more" : ""}>{quantityText(row.gain_ns, "ns")}</span> },
              { title: t("compare-fused.see-before"), text: (row) => <Example run={base} at={row.base_example} name={row.before} /> },
              { title: t("compare-fused.see-after"), text: (row) => <Example run={candidate} at={row.candidate_example} name={row.after} /> },
            ]}
          />
        </>
      )}
    </>
  );
}

function Example({ run, at: [profile, kernel], name }: { run: string; at: [number, number]; name: string }) {
  return <a href={href("timeline", { run, find: `kernel:${profile}:${kernel}`, frame: true })} title={t("link.timeline")} aria-label={t("link.timeline-of", { name })}>{"\u2197"}</a>;
}

function said(value: FusedAnswer): string {
  const kernels = { before: quantityText(value.base_kernels, "count"), after: quantityText(value.candidate_kernels, "count") };
  if (!value.chains.length) return t("compare-fused.none", kernels);
  const gain = value.chains.reduce((sum, one) => sum + one.gain_ns, 0);
  return gain >= 0 ? t("compare.fused.said", { gain: quantityText(gain, "ns"), ...kernels }) : t("compare.fused.cost", { cost: quantityText(-gain, "ns"), ...kernels });
}
