/**
 * Fault injection: a scenario file names the requests to the local service that fail or are late, so that a script can be
 * tested against them. In this folder: reading the file (this module), choosing the rule for a request (rules.ts), and
 * applying it to an answer (middleware.ts) and to a web socket (socket.ts). App server and agent servers share it.
 */
import { readFileSync, statSync } from 'node:fs';
import * as v from 'valibot';
import { placeAt, placeInJson } from '../../text/json-place.ts';
import { ServiceError } from '../lifecycle/failure.ts';
import { scenarioSchema, type FaultRule } from './schema.ts';

export type { FaultRule } from './schema.ts';

const HINT = 'members of a rule: docs/fault-injection.md, or acs serve --help';
const LARGEST_BYTES = 4 * 1024 * 1024;
const MOST_PROBLEMS = 3;

/**
 * Reads and checks a scenario: a JSON list of rules, or an object with `rules` and `note`.
 * @param file absolute path
 * @throws ServiceError `scenario`, with the path, the place in it and what is wrong there
 */
export function readScenario(file: string): FaultRule[] {
  const text = readText(file);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw refusal(file, `it is not JSON: ${linePlace(text, (error as Error).message)}`, error);
  }
  const result = v.safeParse(scenarioSchema(value), value);
  if (result.success) return result.output;
  const problems = result.issues.map((issue) => `${placeOf(issue)}: ${wordsOf(issue)}`);
  const more = problems.length > MOST_PROBLEMS ? `; and ${problems.length - MOST_PROBLEMS} more` : '';
  throw refusal(file, problems.slice(0, MOST_PROBLEMS).join('; ') + more);
}

/**
 * The place of a syntax error and what is wrong there: `line 3, column 7: Expected double-quoted property name`. The
 * message of JSON.parse does not always contain the position; then it quotes the text around it.
 */
function linePlace(text: string, message: string): string {
  const place = placeInJson(text, message) ?? (/^Unexpected end/.test(message) ? placeAt(text, text.length) : null);
  return place === null ? message : `${place}: ${message.replace(/ in JSON at position.*$/s, '')}`;
}

function readText(file: string): string {
  try {
    const { size } = regularFile(file);
    if (size > LARGEST_BYTES) throw new Error('it is larger than 4 MiB');
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const known = { ENOENT: 'there is no such file', EACCES: 'permission denied' }[code ?? ''];
    throw refusal(file, known ?? message, error);
  }
}

/** Not a pipe or a device: the service in the background reads it once more. */
function regularFile(file: string): { size: number } {
  const found = statSync(file);
  if (!found.isFile()) throw new Error('it is not a regular file');
  return found;
}

function refusal(file: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError('scenario', `cannot use the scenario ${file}: ${why}`, { hint: HINT, cause });
}

/** `rule 2, status`: rules count from 1, as in the log. */
function placeOf(issue: v.BaseIssue<unknown>): string {
  const keys = (issue.path ?? []).map(({ key }) => (typeof key === 'number' ? `rule ${key + 1}` : String(key)));
  const named = keys[0] === 'rules' && keys.length > 1 ? keys.slice(1) : keys;
  return named.join(', ') || 'the whole file';
}

/** valibot reports an unknown member with `expected: never`. */
function wordsOf(issue: v.BaseIssue<unknown>): string {
  return issue.expected === 'never' ? 'there is no such member' : issue.message;
}
