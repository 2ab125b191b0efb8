/**
 * What cases have in common: commands with their JSON, conversations that run, and waiting for a
 * condition.
 */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { BACKENDS } from '../genuine/set-up.mjs';
import { startRelay, type Relay, type RelayOptions } from '../support/relay.ts';
import type { Ended } from '../support/world.ts';
import {
  STEP_MS,
  type ContractCase,
  type Dialect,
  type Scenario,
  type Target,
  type Verdict,
} from './target.ts';

export interface ConversationJson {
  id: string;
  title: string | null;
  status: string;
  reason: { code: string; text: string } | null;
  waiting_for: unknown;
  dialect: Dialect;
  sandbox_id: string | null;
  sandbox_status: string | null;
  repository: string | null;
  branch: string | null;
  model: string | null;
  url: string | null;
  created_at: string;
  cost_usd: number | null;
  tokens: { input: number; output: number } | null;
  changed?: boolean;
  outcome?: OutcomeJson;
}

export interface OutcomeJson {
  type: 'outcome';
  conversation_id: string;
  status: string;
  reason: { code: string; text: string } | null;
  exit_code: number;
  cost_usd: number | null;
}

export interface EventJson {
  type: 'event';
  id: string;
  conversation_id: string;
  timestamp: string;
  source: string;
  kind: string;
  text: string;
  payload: Record<string, unknown>;
}

export interface ListJson<T> {
  items: T[];
  has_more: boolean;
}

/** The document a command printed. */
export function json<T = ConversationJson>({ out, err, code }: Ended): T {
  try {
    return JSON.parse(out) as T;
  } catch {
    throw new Error(`no JSON document on stdout (exit ${code}): ${out}\n${err}`);
  }
}

export function lines<T>({ out }: Ended): T[] {
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

/** The error of a command with --json. */
export function errorOf({ err }: Ended): { code: string; message: string; hint: string | null } {
  const last = err.trimEnd().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as { error: { code: string; message: string; hint: string | null } })
    .error;
}

/** Expects this exit code, and shows the output of the command when it is another. */
export function expectCode(ended: Ended, code: number, what = 'exit code'): Ended {
  expect(ended.code, `${what}: ${ended.err}${ended.out.slice(-600)}`).toBe(code);
  return ended;
}

export async function ok(target: Target, ...args: string[]): Promise<Ended> {
  return expectCode(await target.acs(...args), 0, `acs ${args.join(' ')}`);
}

/**
 * Runs `conv new` in that dialect, without a repository and in the shared sandbox unless the flags
 * name others.
 */
export async function conversation(
  target: Target,
  dialect: Dialect,
  scenario: Scenario,
  ...flags: string[]
): Promise<Ended> {
  const args = ['conv', 'new', ...(await target.begin(scenario))];
  if (dialect !== 'agent') args.push('--api', dialect);
  if (!flags.includes('--repo')) args.push('--no-repo');
  if (dialect === 'v1' && !flags.includes('--sandbox') && !flags.includes('--spec')) {
    args.push('--sandbox', await target.sandbox());
  }
  return target.acs(...args, ...flags);
}

/** Starts one and gives its record as it was when it had started. */
export async function started(
  target: Target,
  dialect: Dialect,
  scenario: Scenario,
  ...flags: string[]
): Promise<ConversationJson> {
  return json(
    expectCode(await conversation(target, dialect, scenario, '--json', ...flags), 0, 'conv new'),
  );
}

/** Starts one and waits for its good end; its id. */
export async function finished(
  target: Target,
  dialect: Dialect,
  scenario: Scenario = 'QUICK',
): Promise<string> {
  return (await started(target, dialect, scenario, '--wait')).id;
}

const ENDED = new WeakMap<Target, Map<string, Promise<string>>>();

/**
 * A run that has ended and that cases share: they read it, and change nothing that another might
 * read.
 */
export function endedRun(target: Target, dialect: Dialect, scenario: Scenario): Promise<string> {
  const runs = ENDED.get(target) ?? new Map<string, Promise<string>>();
  ENDED.set(target, runs);
  const name = `${dialect} ${scenario}`;
  const run = runs.get(name) ?? finished(target, dialect, scenario);
  runs.set(name, run);
  return run;
}

const TITLED = new WeakMap<Target, Map<Dialect, Promise<Ended>>>();

/** An ended run that was given the title `Chosen by hand` at its start. */
export async function titledRun(
  target: Target,
  dialect: Dialect,
): Promise<ConversationJson & { err: string }> {
  const runs = TITLED.get(target) ?? new Map<Dialect, Promise<Ended>>();
  TITLED.set(target, runs);
  const flags = ['--title', 'Chosen by hand', '--wait', '--json'];
  const run = runs.get(dialect) ?? conversation(target, dialect, 'QUICK', ...flags);
  runs.set(dialect, run);
  const ended = expectCode(await run, 0, 'conv new --title');
  const record: ConversationJson = json(ended);
  return { ...record, err: ended.err };
}

export async function show(target: Target, id: string): Promise<ConversationJson> {
  return json(await ok(target, 'conv', 'show', id, '--json'));
}

export async function events(target: Target, id: string, ...flags: string[]): Promise<EventJson[]> {
  return json<ListJson<EventJson>>(await ok(target, 'conv', 'events', id, '--json', ...flags))
    .items;
}

/**
 * The last states of the agent of a V0 conversation that the server has stored, the newest first.
 */
export async function lastStates(target: Target, id: string): Promise<string> {
  const { body } = await target.request(
    'GET',
    `/api/conversations/${id}/events?reverse=true&limit=20`,
  );
  const states = (body as { events: { extras?: { agent_state?: string } }[] }).events
    .map(({ extras }) => extras?.agent_state)
    .filter((state) => state !== undefined);
  return states.join(', ');
}

/** Until it holds; throws after the bound, which means that it never came. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  boundMs = STEP_MS,
): Promise<void> {
  const end = Date.now() + boundMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`did not come: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Until the agent carries out its first command. */
export async function untilAtWork(target: Target, id: string): Promise<void> {
  const isV1 = (await show(target, id)).dialect === 'v1';
  const kinds = async (): Promise<{ kind: string }[]> =>
    isV1 && target.traits.includes('events wait for the step')
      ? passedOn(target, id, 'TIMESTAMP')
      : events(target, id);
  await until('the agent at work', async () =>
    (await kinds()).some(({ kind }) => kind === 'ActionEvent' || kind === 'action:run'),
  );
}

interface PassedOn {
  kind: string;
  key?: string;
  value?: unknown;
}

/**
 * The first or last hundred that the app server has of the events of a V1 conversation, which it
 * receives some seconds later.
 */
async function passedOn(
  target: Target,
  id: string,
  order: 'TIMESTAMP' | 'TIMESTAMP_DESC',
): Promise<PassedOn[]> {
  const path = `/api/v1/conversation/${id}/events/search?limit=100&sort_order=${order}`;
  return ((await target.request('GET', path)).body as ListJson<PassedOn>).items;
}

/** Where the agent server of a V1 conversation is, and the key of its sandbox. */
export async function agentServerOf(
  target: Target,
  id: string,
): Promise<{ url: string; key: string }> {
  const { sandbox_id } = await show(target, id);
  const { urls, session_api_key: key } = json<{
    urls: { name: string; url: string }[];
    session_api_key: string;
  }>(await ok(target, 'sandbox', 'show', sandbox_id ?? '', '--show-secrets', '--json'));
  return { url: urls.find(({ name }) => name === 'AGENT_SERVER')?.url ?? '', key };
}

/**
 * Until the sandbox has reported to the app server that a V1 conversation has finished so many
 * runs.
 */
export async function untilPassedOn(target: Target, id: string, runs = 1): Promise<void> {
  await until('its end at the app server', async () => {
    const ends = (await passedOn(target, id, 'TIMESTAMP_DESC')).filter(
      ({ key, value }) => key === 'execution_status' && value === 'finished',
    );
    return ends.length >= runs;
  });
}

/**
 * Until the app server has stored the first message of a V1 conversation: from then on it outlives
 * the sandbox.
 */
export async function untilMessagePassedOn(target: Target, id: string): Promise<void> {
  await until('its message at the app server', async () =>
    (await passedOn(target, id, 'TIMESTAMP')).some(({ kind }) => kind === 'MessageEvent'),
  );
}

const LONGEST_TITLING_MS = 30_000;

/**
 * Until a genuine server has given it the title it makes up: with that it writes the record as it
 * had read it seconds before, also of one that was deleted since. A server that received the
 * message before it had stored the start gives none: for so long as it could.
 */
export async function untilTitled(target: Target, id: string): Promise<void> {
  if (!target.hasModel) return;
  const isTitled = async (): Promise<boolean> =>
    !/^Conversation [0-9a-f]+$/.test((await show(target, id)).title ?? '');
  await until('its title', isTitled, LONGEST_TITLING_MS).catch(() => undefined);
}

/** A backend has one, which `--api` cannot name. */
const DIALECTS = BACKENDS.includes(process.env.ACS_CONTRACT_TARGET ?? '')
  ? (['agent'] as const)
  : (['v1', 'v0'] as const);

/**
 * The same case in each dialect. Where the server does not speak it, acs must say so before it
 * sends anything.
 */
export function inEachDialect(
  name: string,
  run: (target: Target, dialect: Dialect) => Promise<Verdict | void>,
): ContractCase[] {
  return DIALECTS.map((dialect) => ({
    name,
    dialect,
    run: async (target) => {
      if (target.dialects.includes(dialect)) return run(target, dialect);
      expectCode(await target.acs('conv', 'new', 'anything', '--no-repo', '--api', dialect), 12);
      return 'unsupported';
    },
  }));
}

/** A case about sandboxes: a server of V0 alone and a backend have none. */
export function withSandboxes(each: ContractCase): ContractCase {
  return {
    ...each,
    run: async (target) => {
      if (target.dialects.includes('v1')) return each.run(target);
      for (const args of [
        ['sandbox', 'list'],
        ['sandbox', 'start'],
        ['specs', 'list'],
      ]) {
        expectCode(await target.acs(...args), 12, args.join(' '));
      }
      // Of exec every other code is that of the program.
      expectCode(await target.acs('sandbox', 'exec', 'nobody', '--', 'true'), 125);
      return 'unsupported';
    },
  };
}

/** The dialect that acs prefers there. */
export function newest(target: Target): Dialect {
  return target.dialects.find((dialect) => dialect !== 'v0') ?? 'v0';
}

/** A relay to the target, and the environment that makes acs go through it. */
export async function relayTo(
  target: Target,
  options: RelayOptions = {},
): Promise<{ relay: Relay; env: Record<string, string> }> {
  const relay = await startRelay(target.env['ACS_BASE_URL'] ?? '', options);
  return { relay, env: { ACS_BASE_URL: relay.url } };
}

// What both kinds of target need to arrange a case.

/**
 * Requests with the key, past acs; one that came too soon after others, and was not taken, is sent
 * again.
 */
export function callServer(url: string, key: string): Target['request'] {
  return async (method, path, body) => {
    const send = (): Promise<Response> =>
      fetch(`${url}${path}`, {
        method,
        headers: { 'x-session-api-key': key, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
        signal: AbortSignal.timeout(STEP_MS),
      });
    let response = await send();
    for (let tries = 1; response.status === 429 && tries < 10; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      response = await send();
    }
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) as unknown };
    } catch {
      return { status: response.status, body: text };
    }
  };
}

/** The commands of SLOW runs: `released` is the file that they wait for, which is in `dir`. */
export function heldCommands(dir: string): {
  released: string;
  hold: () => Promise<void>;
  release: () => Promise<void>;
} {
  const released = path.join(dir, 'released');
  return {
    released,
    hold: () => rm(released, { force: true }),
    release: () => writeFile(released, ''),
  };
}

/** One sandbox for all cases that need any sandbox; created on first use. */
export function sharedSandbox(target: () => Target): () => Promise<string> {
  let made: Promise<string> | undefined;
  return () => {
    made ??= ok(target(), 'sandbox', 'start', '--json').then(
      (ended) => json<{ id: string }>(ended).id,
    );
    return made;
  };
}
