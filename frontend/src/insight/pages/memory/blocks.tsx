/** Blocks of memory: those of a range or of a moment, searched also by the frames of their stacks; a stack opens as text. */

import { useEffect, useRef, useState } from "preact/hooks";
import { quantityText } from "../../../text/quantities";
import { Choice } from "../../controls/card";
import { type Row, ServerTable } from "../../controls/server-table";
import { change, number, oneOf, parameters } from "../../shell/router";
import { t } from "../../shell/words";
import { MODES, blockQuery } from "./block-query";

/** `peak` is the moment of the peak, which counts as chosen where no other moment is. */
export function BlockTable({ run, profile, peak }: { run: string; profile: number | null; peak: number | null }) {
  const given = parameters({ from: number(), to: number(), at: number(), blocks: oneOf(...MODES) });
  const [open, setOpen] = useState<Row | null>(null);
  const moment = given.at ?? peak;
  const modes = MODES.filter((mode) => mode !== "moment" || moment !== null);
  const query = { profile, ...blockQuery(given.blocks, given.from, given.to, moment) };
  const asked = JSON.stringify(query);
  useEffect(() => setOpen(null), [asked]);
  const opener = useRef<Element | null>(null);
  const close = (): void => {
    setOpen(null);
    if (opener.current instanceof HTMLElement) opener.current.focus();
  };
  return (
    <>
      <h3>{t("memory-page.blocks")}</h3>
      <Choice label={t("memory-page.blocks")} choices={modes.map((mode) => [mode, t(`memory-page.${mode}`)] as const)} value={given.blocks} choose={(mode) => change({ blocks: mode })} />
      {given.blocks === "moment" && moment !== null && <p class="note">{t("memory-page.moment-note", { at: quantityText(moment, "ns") })}</p>}
      <ServerTable
        run={run} name="memory_blocks" title={t("memory-page.blocks")} query={query} without={["frames"]} rows={15}
        pick={{ label: t("memory-page.stack"), act: (row) => { opener.current = document.activeElement; setOpen(same(row, open) ? null : row); }, chosen: (row) => same(row, open), fits: (row) => !!row["frames"] }}
      />
      {open && <Stack block={open} close={close} />}
    </>
  );
}

function Stack({ block, close }: { block: Row; close: () => void }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => { place.current?.focus(); place.current?.scrollIntoView({ block: "nearest" }); }, [block]);
  const title = t("memory-page.stack-of", { address: String(block["address"] ?? "-"), size: quantityText(block["size_bytes"] as number | null, "bytes") });
  return (
    <section ref={place} class="stack-text" tabIndex={-1} aria-label={title} onKeyDown={(event) => { if (event.key === "Escape") { close(); event.stopPropagation(); } }}>
      <p class="table-bar"><strong>{title}</strong> <button type="button" onClick={close}>{t("memory-page.close")}</button></p>
      <pre tabIndex={0}>{String(block["frames"])}</pre>
    </section>
  );
}

function same(one: Row, other: Row | null): boolean {
  return other !== null && ["profile_id", "address", "ts_ns", "device"].every((name) => one[name] === other[name]);
}
