/** Names of slices by their number; they come in chunks, and only those that are drawn are asked for. */

export const CHUNK = 4096;

export class Names {
  readonly #chunks = new Map<number, string[] | "asked">();
  readonly #ids = new Map<string, number>();
  readonly #fetch: (chunk: number) => Promise<string[]>;
  readonly #arrived: () => void;

  constructor(fetch: (chunk: number) => Promise<string[]>, arrived: () => void) {
    this.#fetch = fetch;
    this.#arrived = arrived;
  }

  /** The name, or null while it is on its way. */
  of(id: number): string | null {
    const number = Math.floor(id / CHUNK);
    const chunk = this.#chunks.get(number);
    if (chunk === undefined) this.#ask(number);
    return Array.isArray(chunk) ? (chunk[id % CHUNK] ?? "") : null;
  }

  /** The number of a name that has come, or null. */
  idOf(name: string): number | null {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    for (const [number, chunk] of this.#chunks) {
      const at = Array.isArray(chunk) ? chunk.indexOf(name) : -1;
      if (at < 0) continue;
      this.#ids.set(name, number * CHUNK + at);
      return number * CHUNK + at;
    }
    return null;
  }

  #ask(number: number): void {
    this.#chunks.set(number, "asked");
    this.#fetch(number).then(
      (names) => {
        this.#chunks.set(number, names);
        this.#arrived();
      },
      () => this.#chunks.delete(number), // asked again when it is drawn again
    );
  }
}
