/** The segments of a pool as bars: blocks filled, gaps hatched. A picture; its figures are in the table beside it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { themeOf } from "../../../charts/theme";
import { quantityText } from "../../../text/quantities";
import type { PoolSegment } from "../../api/types";
import { Legend } from "../../controls/card";
import { colours } from "../../shell/settings";
import { t } from "../../shell/words";
import { shadeOf } from "../../controls/nested";

const ROW_PX = 18;
const GAP_PX = 4;
const ROWS = 40;
const KINDS = ["compute", "forward", "active", "exposed_copy", "data"];

export function PoolView({ segments }: { segments: readonly PoolSegment[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [said, setSaid] = useState("");
  const shade = colours.value;
  const rows = segments.slice(0, ROWS);
  const longest = Math.max(1, ...rows.map((one) => one.size_bytes));
  useEffect(() => {
    const paintAll = (): void => { if (canvas.current) paint(canvas.current, rows, longest); };
    paintAll();
    const watch = new ResizeObserver(paintAll);
    if (canvas.current) watch.observe(canvas.current);
    return () => watch.disconnect();
  }, [segments, shade]);
  const tell = (event: MouseEvent): void => {
    const width = canvas.current?.clientWidth ?? 1;
    const segment = rows[Math.floor(event.offsetY / (ROW_PX + GAP_PX))];
    const place = (event.offsetX / width) * longest;
    if (!segment || place >= segment.size_bytes) return setSaid("");
    const block = segment.blocks.find(([offset, size]) => offset <= place && place < offset + size);
    setSaid(block ? `${block[2] || t("memory-moment.unknown")}, ${quantityText(block[1], "bytes")}` : t("memory-moment.free"));
  };
  return (
    <>
      <Legend parts={[{ kind: "compute", label: t("memory-moment.block") }, { kind: "free", label: t("memory-moment.free") }]} />
      <canvas ref={canvas} class="pool" role="img" aria-label={t("memory-moment.pool-picture", { count: rows.length })} style={{ height: `${rows.length * (ROW_PX + GAP_PX)}px` }} onMouseMove={tell} onMouseLeave={() => setSaid("")} />
      <p class="note pool-said">{said || "\u00a0"}</p>
    </>
  );
}

function paint(canvas: HTMLCanvasElement, rows: readonly PoolSegment[], longest: number): void {
  const theme = themeOf(canvas);
  const dots = window.devicePixelRatio || 1;
  canvas.width = Math.round(canvas.clientWidth * dots);
  canvas.height = Math.round(canvas.clientHeight * dots);
  const pen = canvas.getContext("2d");
  if (!pen) return;
  pen.scale(dots, dots);
  const scale = canvas.clientWidth / longest;
  rows.forEach((segment, number) => {
    const top = number * (ROW_PX + GAP_PX);
    const width = Math.max(1, segment.size_bytes * scale);
    pen.save();
    pen.beginPath();
    pen.rect(0, top, width, ROW_PX);
    pen.clip();
    pen.fillStyle = theme.colour("free");
    pen.fillRect(0, top, width, ROW_PX);
    pen.strokeStyle = theme.colour("free-line");
    pen.beginPath();
    for (let x = -ROW_PX; x < width; x += 7) { pen.moveTo(x, top + ROW_PX); pen.lineTo(x + ROW_PX, top); }
    pen.stroke();
    for (const [offset, size, site] of segment.blocks) {
      const [left, wide] = [offset * scale, Math.max(0.5, size * scale)];
      pen.fillStyle = theme.colour(KINDS[shadeOf(site)] ?? "compute");
      pen.fillRect(left, top, wide, ROW_PX);
      if (wide > 3) { pen.fillStyle = theme.card; pen.fillRect(left + wide - 1, top, 1, ROW_PX); }
    }
    pen.restore();
    pen.strokeStyle = theme.soft;
    pen.strokeRect(0.5, top + 0.5, width - 1, ROW_PX - 1);
  });
}
