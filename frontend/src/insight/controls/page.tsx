/** The frame of a page that shows the document of a run. */

import type { ComponentChildren } from "preact";
import { useDocument } from "../api/document";
import type { Document } from "../api/types";
import { Pending } from "./pending";
import { Notice } from "../shell/notice";
import { t } from "../shell/words";

export function Page({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <main id="main" class={`page ${name}`}>
      {children}
    </main>
  );
}

export function DocumentPage({ name, children }: { name: string; children: (document: Document) => ComponentChildren }) {
  const { value, error, again } = useDocument();
  return (
    <Page name={name}>
      {error ? <Notice error={error} again={again} /> : value ? children(value) : <Pending text={t("session.analysing")} />}
    </Page>
  );
}
