/** What the report gives its script: texts are ready to be shown, in the reader's language. */

import type { Unit } from "../text/quantities";

export interface Part {
  /** Names the colour: a custom property of the page's style. */
  kind: string;
  label: string;
  values: (number | null)[];
}

/** Bars one below the other, each divided into parts. */
export interface StackChart {
  type: "stack";
  unit: Unit;
  categories: string[];
  parts: Part[];
}

/** One whole divided into parts. */
export interface ShareChart {
  type: "share";
  unit: Unit;
  slices: { kind: string; label: string; value: number }[];
  middle: string;
  below: string;
}

/** Bars by size; `note` is said beside the value. */
export interface RankingChart {
  type: "ranking";
  unit: Unit;
  kind: string;
  label: string;
  rows: { label: string; value: number; note: string }[];
  /** Share of all that a row and those above it make; empty where it is not known. */
  cumulative: (number | null)[];
  cumulativeLabel: string;
}

/** A matrix of senders and receivers, with a value of each metric per cell. */
export interface HeatChart {
  type: "heat";
  rows: string[];
  columns: string[];
  metrics: { label: string; unit: Unit; lowIsBad: boolean; wide: boolean; close?: boolean }[];
  /** Row, column, then one value per metric. */
  cells: (number | null)[][];
}

/** Curves over one axis, in groups of which one is shown at a time. */
export interface LinesChart {
  type: "lines";
  xUnit: Unit;
  unit: Unit;
  stepped: boolean;
  /** Lines add up: each begins where the one before it ends; they have the same places. */
  stacked?: boolean;
  groups: { label: string; lines: { kind: string; label: string; x: number[]; y: (number | null)[] }[] }[];
}

export type Chart = StackChart | ShareChart | RankingChart | HeatChart | LinesChart;

/** A lane of the timeline; seven numbers per slice, see `FIELDS` of the timeline's model. */
export interface LaneData {
  group: string;
  label: string;
  depths: number;
  /** Slices before they were reduced to these. */
  total: number;
  slices: number[];
}

export interface TimelineData {
  dur_ns: number;
  names: string[];
  kinds: string[];
  kindLabels: string[];
  lanes: LaneData[];
}

export interface ReportData {
  language: "en" | "zh";
  labels: Record<string, string>;
  charts: Record<string, Chart>;
  timeline: TimelineData | null;
}

/** Reads the data block of the page. */
export function readData(page: Document): ReportData | null {
  const block = page.getElementById("report-data");
  return block?.textContent ? (JSON.parse(block.textContent) as ReportData) : null;
}

export function label(data: ReportData, name: string): string {
  return data.labels[name] ?? name;
}
