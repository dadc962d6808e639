/** Asks the server: addresses are relative to the page, so that it works below any path. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

export type Query = Record<string, string | number | boolean | null | undefined>;

/** Address of an endpoint; what is null, undefined or empty is left out of its query. */
export function apiUrl(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    words.set(name, value === true ? "1" : value === false ? "0" : String(value));
  }
  const text = words.toString();
  return `api/v1/${path}${text ? `?${text}` : ""}`;
}

export function runPath(run: string, path: string): string {
  return `runs/${encodeURIComponent(run)}/${path}`;
}

export async function getJson<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
  return (await (await ask(apiUrl(path, query), { signal })).json()) as T;
}

export async function getBytes(path: string, query?: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
  return (await ask(apiUrl(path, query), { signal })).arrayBuffer();
}

export async function putJson<T>(path: string, content: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json" };
  return (await (await ask(apiUrl(path), { method: "PUT", headers, body: JSON.stringify(content) })).json()) as T;
}

export function wasAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

async function ask(address: string, how: RequestInit & { signal?: AbortSignal | undefined }): Promise<Response> {
  let reply: Response;
  try {
    reply = await fetch(address, { credentials: "same-origin", ...how } as RequestInit);
  } catch (error) {
    if (wasAborted(error)) throw error;
    throw new ApiError(0, "unreachable", "", "");
  }
  if (reply.ok) return reply;
  throw await failure(reply);
}

async function failure(reply: Response): Promise<ApiError> {
  let said: { error?: { code?: string; message?: string; hint?: string } } = {};
  try {
    said = (await reply.json()) as typeof said;
  } catch {
    // a proxy in between answered: its status is all there is
  }
  const { code = `http-${reply.status}`, message = "", hint = "" } = said.error ?? {};
  return new ApiError(reply.status, code, message, hint);
}
