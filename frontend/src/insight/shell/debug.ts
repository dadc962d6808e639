/** What tests read: `window.__ascendSn` holds functions that tell a state, and changes nothing. */

declare global {
  interface Window {
    __ascendSn: Record<string, () => unknown>;
  }
}

export function expose(name: string, tell: () => unknown): void {
  window.__ascendSn ??= {};
  window.__ascendSn[name] = tell;
}
