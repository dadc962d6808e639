/** The dialog of keys, made from the table of keys alone. */

import { useEffect, useRef } from "preact/hooks";
import { type Binding, bindings, helpIsOpen } from "./keys";
import { type WordKey, t } from "./words";

const SHOWN: Record<string, string> = {
  ArrowLeft: "\u2190",
  ArrowRight: "\u2192",
  ArrowUp: "\u2191",
  ArrowDown: "\u2193",
  " ": "Space",
  Escape: "Esc",
};

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpIsOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  const close = (): void => {
    helpIsOpen.value = false;
  };
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <div class="dialog-head">
        <h2 id="help-title">{t("help.title")}</h2>
        <button type="button" onClick={close}>
          {t("help.close")}
        </button>
      </div>
      {open && grouped(bindings.value).map(([group, rows]) => (
        <section key={group}>
          <h3>{t(group)}</h3>
          <dl>
            {rows.map((row) => (
              <div key={row.keys.join()}>
                <dt>{row.keys.map((keys) => <span class="keys" key={keys}>{keys.split(" ").map(shown).map((one) => <kbd key={one}>{one}</kbd>)}</span>)}</dt>
                <dd>{t(row.says)}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </dialog>
  );
}

function shown(key: string): string {
  return key.split("+").map((part) => SHOWN[part] ?? part).join("+") || "+";
}

function grouped(all: readonly Binding[]): [WordKey, Binding[]][] {
  const groups = new Map<WordKey, Binding[]>();
  for (const one of all) groups.set(one.group, [...(groups.get(one.group) ?? []), one]);
  return [...groups];
}
