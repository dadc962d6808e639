/** What is not there yet: what happens, and for how long already where it takes long. */

import { useEffect, useState } from "preact/hooks";
import { t } from "../shell/words";

const SILENT_S = 2;

export interface Part {
  done: number;
  total: number;
}

export function Pending({ text, part = null, note = "" }: { text: string; part?: Part | null; note?: string }) {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const long = seconds >= SILENT_S;
  return (
    <div class="soft pending">
      <span role="status">{text}</span>
      {long && <span> {t("pending.seconds", { seconds })}</span>}
      {long && note !== "" && <span> {note}</span>}
      {long && <progress aria-label={text} {...(part !== null && part.total > 0 ? { value: part.done, max: part.total } : {})} />}
    </div>
  );
}
