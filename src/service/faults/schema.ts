/** The form of a scenario file. Each validation error states what the member must be. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as v from 'valibot';
import { parseDuration } from '../../text/duration.ts';

/** Where a connection is cut. `after-frames` is for web sockets alone. */
export const CUTS = ['before-headers', 'after-headers', 'mid-body', 'after-frames'] as const;
export type Cut = (typeof CUTS)[number];

/** One rule as the servers apply it: JSON, so that it can be handed to a worker. */
export interface FaultRule {
  /** Its number in the file, from 1, and its note: how the log calls it. */
  name: string;
  /** The app server, or the agent servers of all sandboxes. */
  server: 'app' | 'agent';
  /** Upper case; empty: all. */
  methods: string[];
  /** `*` stands for anything within a part of the path, `**` for anything at all. */
  path: string;
  /** So many matching requests are left alone first. */
  after: number;
  /** Of those that follow every so many-th is hit. */
  every: number;
  /** So many are hit in all; null: no end. */
  times: number | null;
  latencyMs: number;
  /** Null: as the service answers. */
  status: number | null;
  headers: Record<string, string>;
  /** As it goes out; null: as the service answers. */
  body: string | null;
  contentType: string | null;
  cut: Cut | null;
  /** Frames that a web socket still sends before it is cut. */
  frames: number;
  /** The service gets the request and executes it, whatever the client is answered. */
  delivered: boolean;
}

const isCount = (least: number) => (input: unknown) => Number.isSafeInteger(input) && Number(input) >= least;
const isMethod = (input: unknown): boolean => typeof input === 'string' && /^[A-Za-z]{1,20}$/.test(input);
const optional = <T>(is: (input: unknown) => boolean, words: string) => v.optional(v.custom<T>(is, words));
const count = (least: number) => optional<number>(isCount(least), `it must be a whole number of at least ${least}`);
const text = () => optional<string>((input) => typeof input === 'string', 'it must be a text');

/** Written by the server itself from what it sends. */
const OWN_HEADERS = /^(?:content-length|transfer-encoding|connection|keep-alive)$/i;

const rule = v.strictObject(
  {
    note: text(),
    server: optional<'app' | 'agent'>(
      (input) => input === 'app' || input === 'agent',
      'it must be "app" or "agent" (the agent servers of sandboxes)',
    ),
    method: optional<string | string[]>(
      (input) => isMethod(input) || (Array.isArray(input) && input.length > 0 && input.every(isMethod)),
      'it must be a method such as "GET", or a list of them',
    ),
    path: optional<string>(
      (input) => typeof input === 'string' && /^\/[^?#\s]*$/.test(input),
      'it must begin with a slash and hold no query: "/api/v1/app-conversations/search", "/api/v1/**"',
    ),
    after: count(0),
    every: count(1),
    times: count(1),
    latency: optional<string>(
      (input) => typeof input === 'string' && parseDuration(input) !== null,
      'it must be a duration such as "500ms" or "30s"',
    ),
    status: optional<number>(
      (input) => isCount(200)(input) && Number(input) <= 599,
      'it must be a status from 200 to 599',
    ),
    headers: optional<Record<string, string>>(
      areHeaders,
      'it must be an object of header names and texts, without those that the server writes itself (Content-Length, Transfer-Encoding, Connection)',
    ),
    body: v.optional(v.unknown()),
    content_type: optional<string>(
      (input) => areHeaders({ 'Content-Type': input }),
      'it must be a content type such as "text/html"',
    ),
    cut: optional<Cut>(
      (input) => CUTS.some((each) => each === input),
      `it must be one of ${CUTS.map((each) => `"${each}"`).join(', ')}`,
    ),
    frames: count(0),
    delivered: optional<boolean>((input) => typeof input === 'boolean', 'it must be true or false'),
  },
  'it must be an object',
);
type WrittenRule = v.InferOutput<typeof rule>;

const meaning = v.rawCheck<WrittenRule>(({ dataset, addIssue }) => {
  if (!dataset.typed) return;
  for (const message of problemsOf(dataset.value)) addIssue({ message });
});

/** For a list of rules, or for an object that holds one: what the file is decides, so that refusals fit it. */
export function scenarioSchema(value: unknown): v.GenericSchema<unknown, FaultRule[]> {
  const rules = v.pipe(
    v.array(v.pipe(rule, meaning), 'it must be a list of rules'),
    v.minLength(1, 'it holds no rule'),
    v.transform((written) => written.map(asApplied)),
  );
  if (Array.isArray(value)) return rules;
  return v.pipe(
    v.strictObject({ note: text(), rules }, 'it must be a list of rules, or an object with the member "rules"'),
    v.transform((written) => written.rules),
  );
}

function areHeaders(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return false;
  return Object.entries(input).every(([name, value]) => {
    if (typeof value !== 'string' || OWN_HEADERS.test(name)) return false;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      return true;
    } catch {
      return false;
    }
  });
}

/** Rules that would do nothing, or not what was written, are mistakes of their writer. */
function problemsOf(it: WrittenRule): string[] {
  const answers = it.status !== undefined || it.body !== undefined;
  const alters = it.headers !== undefined || it.content_type !== undefined;
  const problems: [boolean, string][] = [
    [
      !answers && !alters && it.latency === undefined && it.cut === undefined,
      'it does nothing: give it latency, status, headers, body, content_type or cut',
    ],
    [(it.cut === 'after-frames') !== (it.frames !== undefined), '"frames" and "cut": "after-frames" go together'],
    [
      it.cut === 'after-frames' && it.server !== 'agent',
      'web sockets are those of sandboxes: "after-frames" needs "server": "agent"',
    ],
    [
      it.cut === 'after-frames' && (answers || alters || it.delivered === false),
      'a web socket that is cut after frames has no answer to change',
    ],
    [
      it.cut === 'before-headers' && (answers || alters),
      'nothing of an answer is sent when it is cut before its headers',
    ],
    [
      it.delivered === false && !answers && it.cut !== 'before-headers',
      '"delivered": false needs an answer in place of the one of the service: status, body, or "cut": "before-headers"',
    ],
    [(it.status === 204 || it.status === 304) && it.body !== undefined, `status ${it.status} has no body`],
  ];
  return problems.filter(([isWrong]) => isWrong).map(([, message]) => message);
}

function asApplied(it: WrittenRule, index: number): FaultRule {
  const isAnswered = it.status !== undefined || it.body !== undefined;
  return {
    name: `rule ${index + 1}${it.note === undefined ? '' : ` (${it.note})`}`,
    server: it.server ?? 'app',
    methods: [it.method ?? []].flat().map((each) => each.toUpperCase()),
    path: it.path ?? '/**',
    after: it.after ?? 0,
    every: it.every ?? 1,
    times: it.times ?? null,
    latencyMs: parseDuration(it.latency ?? '0ms') ?? 0,
    status: it.status ?? null,
    headers: it.headers ?? {},
    body: it.body === undefined ? null : typeof it.body === 'string' ? it.body : JSON.stringify(it.body),
    contentType: it.content_type ?? (typeof it.body === 'string' ? 'text/plain; charset=utf-8' : null),
    cut: it.cut ?? null,
    frames: it.frames ?? 0,
    delivered: it.delivered ?? (!isAnswered && it.cut !== 'before-headers'),
  };
}
