/** The frame of a page that shows the document of a run. */

import type { ComponentChildren } from "preact";
import type { Asked } from "../api/asked";
import { Notice } from "../shell/notice";
import { Analysing } from "./analysing";

export function Page({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <main id="main" class={`page ${name}`}>
      {children}
    </main>
  );
}

/** What is shown of the document once it is there; until then, how far it is. */
export function Shown<T>({ asked: { value, error, again }, children }: { asked: Asked<T>; children: (value: T) => ComponentChildren }) {
  return <>{error ? <Notice error={error} again={again} /> : value ? children(value) : <Analysing />}</>;
}
