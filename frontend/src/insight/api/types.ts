/** Answers of the server, as `docs/reference` describes them; only what the page reads. */

export interface Health {
  damage_count: number;
  silent_devices: unknown[];
}

export interface Document {
  health: Health;
}
