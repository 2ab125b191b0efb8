/** A scenario file names the requests to the local service that fail or are late. */
import { readFileSync, statSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as v from 'valibot';
import { parseDuration } from '../../base/text/time.ts';
import { positionAt, positionInJson } from '../../base/text/json-position.ts';
import { isRecord } from '../../protocol/shape.ts';
import { ServiceError } from '../base/failure.ts';

/** Where a connection is cut. `after-frames` is for web sockets alone. */
const CUTS = ['before-headers', 'after-headers', 'mid-body', 'after-frames'] as const;

/** As the servers apply it: JSON, so that it can be handed to a worker. */
export type FaultRule = ReturnType<typeof asApplied>;

const count = (least: number) => {
  const message = `it must be an integer of at least ${least}`;
  return v.pipe(v.number(message), v.safeInteger(message), v.minValue(least, message));
};
const DURATION = 'it must be a duration such as "500ms" or "30s"';
const STATUS = 'it must be a status from 200 to 599';

const WRITTEN_RULE = v.strictObject(
  {
    note: v.optional(v.string('it must be a text')),
    server: v.optional(
      v.picklist(['app', 'agent'], 'it must be "app" or "agent" (the agent servers of sandboxes)'),
      'app',
    ),
    method: v.optional(
      v.custom<string | string[]>(
        (input) =>
          [input].flat().length > 0 &&
          [input].flat().every((each) => /^[A-Za-z]{1,20}$/.test(String(each))),
        'it must be a method such as "GET", or a list of them',
      ),
    ),
    path: v.optional(
      v.custom<string>(
        (input) => typeof input === 'string' && /^\/[^?#\s]*$/.test(input),
        'it must begin with a slash and hold no query: "/api/v1/app-conversations/search", ' +
          '"/api/v1/**"',
      ),
      '/**',
    ),
    after: v.optional(count(0), 0),
    every: v.optional(count(1), 1),
    times: v.optional(count(1)),
    latency: v.optional(v.pipe(v.string(DURATION), v.transform(parseDuration), v.number(DURATION))),
    status: v.optional(
      v.pipe(v.number(STATUS), v.integer(STATUS), v.minValue(200, STATUS), v.maxValue(599, STATUS)),
    ),
    headers: v.optional(
      v.custom<Record<string, string>>(
        areHeaders,
        'it must be an object of header names and texts, without those that the server ' +
          'writes itself (Content-Length, Transfer-Encoding, Connection)',
      ),
    ),
    body: v.optional(v.unknown()),
    content_type: v.optional(
      v.custom<string>(
        (input) => areHeaders({ 'Content-Type': input }),
        'it must be a content type such as "text/html"',
      ),
    ),
    cut: v.optional(
      v.picklist(CUTS, `it must be one of ${CUTS.map((each) => `"${each}"`).join(', ')}`),
    ),
    frames: v.optional(count(0)),
    delivered: v.optional(v.boolean('it must be true or false')),
  },
  ({ expected }) => (expected === 'never' ? 'there is no such member' : 'it must be an object'),
);

type WrittenRule = v.InferOutput<typeof WRITTEN_RULE>;

function areHeaders(input: unknown): boolean {
  if (!isRecord(input)) return false;
  return Object.entries(input).every(([name, value]) => {
    // Written by the server itself from what it sends.
    if (/^(?:content-length|transfer-encoding|connection|keep-alive)$/i.test(name)) return false;
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value as string);
      return typeof value === 'string';
    } catch {
      return false;
    }
  });
}

/** A list of rules, or an object with `rules` and `note`. Throws ServiceError `scenario`. */
export function readScenario(file: string): FaultRule[] {
  const refusal = (why: string, cause?: unknown, hint?: string): ServiceError =>
    new ServiceError('scenario', `cannot use the scenario ${file}: ${why}`, { hint, cause });
  const hint = 'members of a rule: docs/fault-injection.md, or acs serve --help';
  let text: string;
  try {
    // Not a pipe or a device: the service in the background reads it once more.
    if (!statSync(file).isFile()) throw new Error('it is not a regular file');
    text = readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const known = { ENOENT: 'there is no such file', EACCES: 'permission denied' }[code ?? ''];
    throw refusal(known ?? message, error);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // A message of JSON.parse without the position quotes the text around it.
    const { message } = error as Error;
    const position =
      positionInJson(text, message) ??
      (/^Unexpected end/.test(message) ? positionAt(text, text.length) : null);
    const what =
      position === null
        ? message
        : `${position}: ${message.replace(/ in JSON at position.*$/s, '')}`;
    throw refusal(`it is not JSON: ${what}`, error, hint);
  }
  const { rules, problems } = parseScenario(value);
  if (problems.length > 0) throw refusal(problems.slice(0, 3).join('; '), undefined, hint);
  return rules;
}

/** `problems`: `rule 2, status: …`; rules count from 1, as in the log. */
export function parseScenario(value: unknown): { rules: FaultRule[]; problems: string[] } {
  const file = isRecord(value) ? value : { rules: value };
  const problems = Object.keys(file)
    .filter((name) => name !== 'rules' && name !== 'note')
    .map((name) => `${name}: there is no such member`);
  const subject = file === value && 'rules' in file ? 'rules' : 'the whole file';
  if (!Array.isArray(file.rules)) {
    const other = subject === 'rules' ? '' : ', or an object with the member "rules"';
    problems.push(`${subject}: it must be a list of rules${other}`);
    return { rules: [], problems };
  }
  if (file.rules.length === 0) problems.push(`${subject}: it holds no rule`);
  const rules = (file.rules as unknown[]).flatMap((written, index) => {
    const options = { abortPipeEarly: true };
    const { success, output, issues } = v.safeParse(WRITTEN_RULE, written, options);
    const wrong = success
      ? mistakesIn(output).map((mistake) => `: ${mistake}`)
      : issues.map(({ path, message }) => `${path ? `, ${String(path[0].key)}` : ''}: ${message}`);
    problems.push(...wrong.map((each) => `rule ${index + 1}${each}`));
    return success ? asApplied(output, index) : [];
  });
  return { rules: problems.length > 0 ? [] : rules, problems };
}

/** Rules that would do nothing, or not what was written, are mistakes of their writer. */
function mistakesIn(it: WrittenRule): string[] {
  const answers = it.status !== undefined || it.body !== undefined;
  const alters = answers || it.headers !== undefined || it.content_type !== undefined;
  const isOfSocket = it.cut === 'after-frames';
  const mistakes = {
    'it does nothing: give it latency, status, headers, body, content_type or cut':
      !alters && it.latency === undefined && it.cut === undefined,
    '"frames" and "cut": "after-frames" go together': isOfSocket !== (it.frames !== undefined),
    'web sockets are those of sandboxes: "after-frames" needs "server": "agent"':
      isOfSocket && it.server !== 'agent',
    'a web socket that is cut after frames has no answer to change':
      isOfSocket && (alters || it.delivered === false),
    'nothing of an answer is sent when it is cut before its headers':
      it.cut === 'before-headers' && alters,
    ['"delivered": false needs an answer in place of the one of the service: status, body, ' +
    'or "cut": "before-headers"']:
      it.delivered === false && !answers && it.cut !== 'before-headers',
    [`status ${it.status} has no body`]:
      (it.status === 204 || it.status === 304) && it.body !== undefined,
  };
  return Object.entries(mistakes).flatMap(([mistake, isMade]) => (isMade ? mistake : []));
}

function asApplied(it: WrittenRule, index: number) {
  const { note, method = [], latency: latencyMs = 0, body, content_type, ...same } = it;
  const isText = typeof body === 'string';
  const isAnswered = same.status !== undefined || body !== undefined;
  return {
    ...same,
    name: `rule ${index + 1}${note === undefined ? '' : ` (${note})`}`,
    /** Upper case; empty: all. */
    methods: [method].flat().map((each) => each.toUpperCase()),
    latencyMs,
    body: isText ? body : (JSON.stringify(body) as string | undefined),
    contentType: content_type ?? (isText ? 'text/plain; charset=utf-8' : undefined),
    delivered: same.delivered ?? (!isAnswered && same.cut !== 'before-headers'),
  };
}
