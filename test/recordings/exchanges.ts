/**
 * Requests to genuine servers and their answers, in order. The files under test/fixtures/recordings
 * hold one exchange a line; workspace paths in them are written `.`, keys `<app-key>` and
 * `<sandbox-key>`, and `…[cut] N more` stands for the rest of a long text or list.
 */
import { readFileSync } from 'node:fs';
import { AGENT_ROUTES } from '../../src/service/agent-server/app.ts';

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

// Which routes a server has: from the document of an app server, and from the declarations of the
// agent server.

/** The document of a server; recorded ones name only the methods of a path. */
export interface Document {
  paths: Record<string, JsonObject | string>;
}

export interface Routes {
  /** `METHOD /path/{id}` of a request; null when it is not served. */
  find(method: string, path: string): string | null;
}

export async function routesOf(url: string): Promise<Routes> {
  const response = await fetch(new URL('/openapi.json', url));
  return routesIn((await response.json()) as Document);
}

/** The routes of the agent server, which serves no document. */
export function routesOfAgentServer(): Routes {
  const paths: Document['paths'] = {};
  for (const { method, path } of AGENT_ROUTES) {
    paths[path] = [paths[path], method.toLowerCase()]
      .filter((each) => each !== undefined)
      .join(',');
  }
  return routesIn({ paths });
}

export function routesIn({ paths }: Document): Routes {
  const routes = Object.entries(paths).flatMap(([path, methods]) => {
    const literal = path
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/\{\w+(?::path)?\}/g, '[^/]+');
    // With a slash too many it is still that route: servers send the client there.
    const pattern = new RegExp(`^${literal}/?$`);
    return (isObject(methods) ? Object.keys(methods) : methods.split(',')).map((method) => ({
      method: method.toUpperCase(),
      path,
      pattern,
    }));
  });
  routes.sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')));
  return {
    find(method, path) {
      const route = routes.find((one) => one.method === method && one.pattern.test(path));
      return route === undefined ? null : `${method} ${route.path}`;
    },
  };
}

export function withoutIds(path: string): string {
  return path.replace(
    /\/[0-9a-f]{32}(?=\/|$)|\/[0-9a-f]{8}-[0-9a-f-]{27}(?=\/|$)|\/(?=\w*\d)(?=\w*[A-Z])\w{18,24}(?=\/|$)/g,
    '/{id}',
  );
}

// Which of our ids stands for which recorded one. An id is learned where it first appears: at the
// same place of the recorded answer and of ours. From then on it is replaced in every request.

const ID =
  /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*\d)(?=.*[A-Z])[0-9A-Za-z]{18,24}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?)$/;
const IN_TEXT =
  /[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-Za-z]{18,24}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+/g;
export class Identities {
  readonly #ours = new Map<string, string>();
  /** By path and recorded page id: the same number is another page of another list. */
  readonly #pages = new Map<string, string>();
  readonly #texts: [string, string][] = [];

  /** Maps a name of the recordings to the name here. */
  set(recorded: string, ours: string): void {
    this.#ours.set(recorded, ours);
  }

  /** Maps a part of texts, such as an address, to its value here. */
  setText(recorded: string, ours: string): void {
    this.#texts.push([recorded, ours]);
  }

  /** Learns which ids of two answers correspond. */
  learn(recorded: Json, ours: Json | undefined): void {
    if (typeof recorded === 'string' && typeof ours === 'string') {
      if (ID.test(recorded)) this.#add(recorded, ours);
    } else if (Array.isArray(recorded) && Array.isArray(ours)) {
      recorded.forEach((item, index) => {
        if (!isCut(item)) this.learn(item, ours[index]);
      });
    } else if (isObject(recorded) && isObject(ours)) {
      if (recorded['kind'] !== ours['kind']) return;
      for (const [name, member] of Object.entries(recorded)) this.learn(member, ours[name]);
    }
  }

  /** Learns the page that follows a list. */
  learnPage(path: string, recorded: Json, ours: Json | undefined): void {
    const [page, own] = [recorded, ours ?? null].map((each) =>
      isObject(each) ? each['next_page_id'] : null,
    );
    if (typeof page === 'string' && typeof own === 'string')
      this.#pages.set(`${path} ${page}`, own);
  }

  translatePage(path: string, page: Json): Json {
    return this.#pages.get(`${path} ${String(page)}`) ?? this.translate(page);
  }

  /** A recorded value with our ids. */
  translate(value: Json): Json {
    if (typeof value === 'string') return this.translateText(value);
    if (Array.isArray(value)) return value.map((item) => this.translate(item));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, this.translate(member)]),
    );
  }

  translateText(text: string): string {
    const whole = this.#ours.get(text);
    if (whole !== undefined) return whole;
    const placed = this.#texts.reduce(
      (all, [recorded, ours]) => all.replaceAll(recorded, ours),
      text,
    );
    return placed.replace(IN_TEXT, (found) => this.#ours.get(found) ?? found);
  }

  /** Both spellings of an id that has two. */
  #add(recorded: string, ours: string): void {
    if (this.#ours.has(recorded)) return;
    this.#ours.set(recorded, ours);
    const [plain, plainOurs] = [recorded.replaceAll('-', ''), ours.replaceAll('-', '')];
    if (!/^[0-9a-f]{32}$/.test(plain) || !/^[0-9a-f]{32}$/.test(plainOurs)) return;
    for (const write of [(id: string) => id, dashed]) {
      if (!this.#ours.has(write(plain))) this.#ours.set(write(plain), write(plainOurs));
    }
  }
}

function dashed(id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

// The differences that are known, out of differences.json: which exchange differs, in what, and
// why. What is listed is held to: an exchange that agrees after all, or that differs in another
// way, fails the test.

/**
 * Why an exchange differs. `breakage`: the genuine server breaks itself or its user, and the local
 * service answers properly. `model`: the answer is one that only a model can give. `chosen`: the
 * local service is another one.
 */
export type Class = 'breakage' | 'model' | 'chosen';

interface Entry {
  /** One reason for all of the names. */
  reason: string;
  /** Both releases where it is left out. */
  releases?: Release[];
  names: string[];
  /** The differences, as shape.ts words them. */
  differs: string[];
}

export interface Listed {
  class: Class;
  reason: string;
  differs: string[];
}

type Classes = Record<Class, { meaning: string; exchanges: Entry[] }>;

export const RELEASES: Release[] = ['1.11.0', '1.6.0'];
export const CLASSES: Class[] = ['breakage', 'model', 'chosen'];

function readClasses(): Classes {
  return JSON.parse(readFileSync(new URL('differences.json', import.meta.url), 'utf8')) as Classes;
}

/** What a class means, in a sentence. */
export function meaningOf(name: Class): string {
  return readClasses()[name].meaning;
}

/** What is known of a release, by the name of the exchange. Throws when a name is there twice. */
export function readListed(release: Release): Map<string, Listed> {
  const classes = readClasses();
  const found = new Map<string, Listed>();
  for (const name of CLASSES) {
    for (const { reason, releases, names, differs } of classes[name].exchanges) {
      if (!(releases ?? RELEASES).includes(release)) continue;
      for (const one of names) {
        if (found.has(one)) throw new Error(`${one} is listed twice for ${release}`);
        found.set(one, { class: name, reason, differs });
      }
    }
  }
  return found;
}

/**
 * Routes of a release that the local service does not have, and how many exchanges that leaves out:
 * an exchange that cannot be played differs in nothing, so one more must be as loud as a
 * difference.
 */
export function readNotServed(release: Release): Record<string, number> {
  const file = new URL('not-served.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as Record<Release, Record<string, number>>)[
    release
  ];
}

/** Whether the differences found are those listed, whatever their order. */
export function isAsListed(found: string[], listed: string[]): boolean {
  return (
    found.length === listed.length && [...found].sort().join('\n') === [...listed].sort().join('\n')
  );
}
