/**
 * Requests to genuine servers and their answers, in order. The files under test/fixtures/recordings
 * hold one exchange a line; workspace paths in them are written `.`, keys `<app-key>` and
 * `<sandbox-key>`, and `…[cut] N more` stands for the rest of a long text or list.
 */
import { readFileSync } from 'node:fs';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface RecordedRequest {
  /**
   * The app server, or the agent server of a sandbox; null: the app server, by a client that adds
   * the key itself.
   */
  host: 'app' | 'agent' | null;
  method: string;
  path: string;
  query: JsonObject | null;
  headers: Record<string, string>;
  body: Json;
}

export interface Answer {
  status: number;
  /** Media type without its parameters; null where there is none. */
  contentType: string | null;
  body: Json;
}

export interface Exchange {
  name: string;
  request: RecordedRequest;
  answer: Answer;
  /** How long the genuine server took. */
  seconds: number;
}

interface Line {
  name: string;
  request: RecordedRequest;
  response: { status: number; content_type: string | null; body: Json };
  seconds?: number;
}

export type Release = '1.11.0' | '1.6.0';

/** The exchanges of a release, oldest first. */
export function readExchanges(release: Release): Exchange[] {
  const file = new URL(`../fixtures/recordings/exchanges-${release}.jsonl`, import.meta.url);
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const { name, request, response, seconds } = JSON.parse(line) as Line;
    const { status, content_type: type, body } = response;
    return {
      name,
      request,
      answer: { status, contentType: mediaType(type), body },
      seconds: seconds ?? 0,
    };
  });
}

export function mediaType(header: string | null): string | null {
  return header === null ? null : (header.split(';')[0] ?? '').trim().toLowerCase();
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const CUT = /…\[cut\] ?(\d+)?/;

/** Whether a text or the last item of a list only counts what was left out. */
export function isCut(value: Json | undefined): boolean {
  return typeof value === 'string' && CUT.test(value);
}

/**
 * A request as it was sent: what was left out of lists and texts is filled up with more of the
 * same.
 */
export function filledUp(value: Json): Json {
  if (typeof value === 'string') {
    const missing = CUT.exec(value);
    if (missing === null) return value;
    const kept = value.slice(0, missing.index);
    return kept + (kept.at(-1) ?? 'x').repeat(Number(missing[1] ?? 0));
  }
  if (Array.isArray(value)) {
    const missing = Number(CUT.exec(String(value.at(-1)))?.[1] ?? 0);
    if (missing === 0 || typeof value.at(-1) !== 'string') return value.map(filledUp);
    const kept = value.slice(0, -1).map(filledUp);
    return [...kept, ...Array.from({ length: missing }, () => kept[0] ?? null)];
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filledUp(member)]));
}
