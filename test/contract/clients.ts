/** What clients of other makers do with the local service: each release that is pinned. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { setUp } from '../genuine/set-up.mjs';
import {
  agentServerOf,
  callServer,
  events,
  finished,
  json,
  started,
  type ConversationJson,
  type EventJson,
  type ListJson,
} from './support.ts';
import { STEP_MS, type ContractCase, type Target } from './target.ts';
import { startModel } from '../genuine/model.ts';
import { createWorld } from '../support/world.ts';

const GENUINE = path.join(import.meta.dirname, '..', 'genuine');
/** For a client that never ends; on a loaded machine it takes half a minute to load. */
const CLIENT_TIMEOUT_MS = STEP_MS + 30_000;

interface Attached {
  client: string;
  status: string;
  events: { id: string; kind: string; source: string }[];
  /** With `--file`: what came of it. */
  files?: { errors: (string | null)[]; printed: string; downloaded: string | null };
  /**
   * From attach.mjs: the ids of what was stored when the web socket had opened, and of what came
   * over it.
   */
  stored?: string[];
  live?: string[];
}

/** Attaches that release to the conversation; flags as attach.py and attach.mjs have them. */
async function attach(
  release: string,
  target: Target,
  id: string,
  ...flags: string[]
): Promise<Attached> {
  const { url: host, key } = await agentServerOf(target, id);
  const entry = await setUp(release, () => {});
  const [command, ...args] = isFromNpm(release)
    ? [process.execPath, path.join(GENUINE, 'attach.mjs'), entry]
    : [entry, path.join(GENUINE, 'attach.py')];
  const env = { PATH: process.env.PATH, HOME: target.dir, SESSION_API_KEY: key };
  const options = { env, cwd: target.dir, timeout: CLIENT_TIMEOUT_MS, maxBuffer: 64 * 1024 ** 2 };
  const { stdout } = await promisify(execFile)(
    command ?? entry,
    [...args, '--host', host, '--id', id, ...flags],
    options,
  );
  return JSON.parse(stdout) as Attached;
}

function isFromNpm(release: string): boolean {
  return release.startsWith('typescript-client-');
}

/**
 * The client has every stored event, once and in order; beside them only what its socket alone is
 * sent.
 */
function expectEveryEvent(read: Attached['events'], stored: EventJson[]): void {
  const ids = stored.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(0);
  expect(read.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);
  const others = read.filter(({ id }) => !ids.includes(id)).map(({ kind }) => kind);
  expect(others.filter((kind) => kind !== 'ConversationStateUpdateEvent')).toEqual([]);
}

/** What was stored after the web socket had opened came over it, in order. */
function expectOverSocket({ stored = [], live = [] }: Attached, all: EventJson[]): void {
  const later = all.map(({ id }) => id).filter((id) => !stored.includes(id));
  expect(later.length).toBeGreaterThan(0);
  expect(live.filter((id) => later.includes(id))).toEqual(later);
}

/** The cases of one release of a client; `release` as in CLIENTS. */
export function clientCases(release: string): ContractCase[] {
  const client = release.replace(/^.*-/, '');
  // This one does not attach to a conversation.
  if (release.startsWith('cli-')) return conversingCases(release);
  const cases: ContractCase[] = [
    ...conversingCases(release),
    {
      name: 'attaches to a replayed conversation and reads every event',
      async run(target) {
        const id = await finished(target, 'v1', 'WORK');
        const read = await attach(release, target, id);
        expect(read).toMatchObject({ client, status: 'finished' });
        expectEveryEvent(read.events, await events(target, id));
      },
    },
    {
      name: 'attached to a run under way, gets each event and the end of the run',
      async run(target) {
        const { id } = await started(target, 'v1', 'SLOW');
        const read = await attach(release, target, id, '--until', 'finished');
        expect(read).toMatchObject({ client, status: 'finished' });
        expectEveryEvent(read.events, await events(target, id));
      },
    },
    {
      name: 'uploads a file, reads it with a command and downloads it',
      async run(target) {
        const text = 'one line, and one more\nwith ümlauts';
        const { files } = await attach(
          release,
          target,
          await finished(target, 'v1'),
          '--file',
          text,
        );
        expect(files?.errors.filter((error) => error !== null)).toEqual([]);
        expect(files).toMatchObject({ printed: text, downloaded: text });
      },
    },
  ];
  return isFromNpm(release) ? [...cases, sends(release)] : cases;
}

function sends(release: string): ContractCase {
  return {
    name: 'sends a message, and gets each event of the run over its web socket',
    async run(target) {
      const id = await finished(target, 'v1');
      const read = await attach(release, target, id, '--send', 'go on', '--until', 'finished');
      expect(read.status).toBe('finished');
      const all = await events(target, id);
      expectEveryEvent(read.events, all);
      expectOverSocket(read, all);
    },
  };
}

// Clients of other makers run a conversation to its end: at the place where each has its model, a
// replay or a model.

/** A bound for a client that never ends; on a loaded machine it takes half a minute to load. */
const RUN_TIMEOUT_MS = 400_000;
const API_KEY = 'key-of-the-model';

/**
 * What drives the agent. A replay: the default one of a service, which holds also when a model is
 * set.
 */
type Driver = 'replay' | 'model';

type Server = Pick<Target, 'acs' | 'dir' | 'env' | 'key' | 'request'> & {
  url: string;
  modelUrl: string;
};

interface Conversed {
  client: string;
  id: string;
  status: string;
  events: { kind: string; source: string }[];
  seconds: number;
  /**
   * Of a cloud workspace: its sandbox, the status of that after its pause, and what it read of the
   * user.
   */
  sandbox?: string;
  paused?: string;
  llm?: { model: string; base_url: string | null; api_key: string | null };
  secrets?: string[];
}

const AT_AGENT_SERVER = 'a client of the agent server';

const PATHS = {
  user: '/api/v1/settings',
  secrets: '/api/v1/secrets',
  sandboxes: '/api/v1/sandboxes',
};

/** The cases of one release of a client; `release` as in CLIENTS. */
export function conversingCases(release: string): ContractCase[] {
  const cli = casesOf('openhands cloud', (server) => runCli(release, server));
  if (release.startsWith('cli-')) return cli;
  const atAgentServer = casesOf(AT_AGENT_SERVER, async (server) => {
    const { url, key } = await newSandbox(server);
    return converse(release, ['--host', url, '--model-url', server.modelUrl], key);
  });
  if (release.startsWith('typescript-client-')) return atAgentServer;
  return [
    ...atAgentServer,
    ...casesOf('a cloud workspace', (server) => runCloudWorkspace(release, server)),
  ];
}

function casesOf(client: string, run: (server: Server) => Promise<Conversed>): ContractCase[] {
  return (['replay', 'model'] as const).map((driver) => ({
    name: `${client} runs a conversation to its end with a ${driver}`,
    async run(target) {
      if (target.hasModel && client !== AT_AGENT_SERVER)
        return { notHere: 'a self-hosted server takes no bearer token' };
      if (target.hasModel && driver === 'replay')
        return { notHere: 'no agent of this server plays a replay' };
      const { seconds, status, events } = await withServer(target, driver, run);
      expect(status).toBe('finished');
      const kinds = events.filter(({ source }) => source !== 'user').map(({ kind }) => kind);
      expect(kinds).toEqual(expect.arrayContaining(['ActionEvent', 'ObservationEvent']));
      return { conversationSeconds: seconds };
    },
  }));
}

/**
 * Gives a genuine server, or a service of its own, which has a default replay or none. A model is
 * set on either.
 */
async function withServer<Result>(
  target: Target,
  driver: Driver,
  work: (server: Server) => Promise<Result>,
): Promise<Result> {
  const model = await startModel(path.join(target.dir, 'released'));
  const world = target.hasModel
    ? null
    : await createWorld({ spec: 'process', ...(driver === 'replay' ? { replay: 'demo' } : {}) });
  const url = world?.service.url ?? target.env.ACS_BASE_URL ?? '';
  const key = world?.service.key ?? target.key;
  const { acs, dir, env } = world ?? target;
  const server = { acs, dir, env, key, url, modelUrl: model.url, request: callServer(url, key) };
  try {
    const llm = { model: 'openai/gpt-4o', api_key: API_KEY, base_url: model.url };
    await expectStored(server, PATHS.user, { agent_settings_diff: { llm } });
    await expectStored(server, PATHS.secrets, { name: 'API_TOKEN', value: 'hidden-value' });
    return await work(server);
  } finally {
    await world?.close();
    await model.close();
  }
}

async function expectStored({ request }: Server, at: string, body: unknown): Promise<void> {
  const { status } = await request('POST', at, body);
  expect([at, status]).toEqual([at, at === PATHS.user ? 200 : 201]);
}

async function newSandbox({ acs }: Server): Promise<{ url: string; key: string }> {
  const { id } = json<{ id: string }>(await acs('sandbox', 'start', '--json'));
  const { urls, session_api_key: key } = json<{
    urls: { name: string; url: string }[];
    session_api_key: string;
  }>(await acs('sandbox', 'show', id, '--show-secrets', '--json'));
  return { url: urls.find(({ name }) => name === 'AGENT_SERVER')?.url ?? '', key };
}

async function converse(release: string, flags: string[], key: string): Promise<Conversed> {
  const entry = await setUp(release, () => {});
  const isFromNpm = release.startsWith('typescript-client-');
  const command = isFromNpm ? process.execPath : entry;
  const script = path.join(GENUINE, isFromNpm ? 'converse.mjs' : 'converse.py');
  const args = [script, ...(isFromNpm ? [entry] : []), ...flags, '--message', 'WORK please'];
  const { stdout } = await runClient(command, args, { API_KEY: key });
  const conversed = JSON.parse(stdout) as Conversed;
  expect(conversed.client).toBe(release.replace(/^.*-/, ''));
  return conversed;
}

async function runClient(command: string, args: string[], env: Record<string, string>) {
  const options = {
    env: { PATH: process.env.PATH, ...env },
    timeout: RUN_TIMEOUT_MS,
    maxBuffer: 64 * 1024 ** 2,
  };
  return await promisify(execFile)(command, args, options);
}

/**
 * It can use model and secrets of the user, sees its sandbox paused after a pause, and deletes it
 * at its end.
 */
async function runCloudWorkspace(release: string, server: Server): Promise<Conversed> {
  const conversed = await converse(
    release,
    ['--cloud', server.url, '--model-url', server.modelUrl],
    server.key,
  );
  const { sandbox = '', paused, llm, secrets } = conversed;
  expect(paused).toBe('PAUSED');
  if (release !== 'sdk-1.11.5') {
    expect(llm).toEqual({ model: 'openai/gpt-4o', base_url: server.modelUrl, api_key: API_KEY });
    expect(secrets).toEqual(['API_TOKEN']);
  }
  expect((await server.request('GET', `${PATHS.sandboxes}?id=${sandbox}`)).body).toEqual([null]);
  return conversed;
}

/** `openhands cloud` starts a conversation and prints a link to it. */
async function runCli(release: string, server: Server): Promise<Conversed> {
  const openhands = path.join(path.dirname(await setUp(release, () => {})), 'openhands');
  const home = await mkdtemp(path.join(server.dir, 'home-'));
  await mkdir(path.join(home, '.openhands', 'cloud'), { recursive: true });
  await writeFile(path.join(home, '.openhands', 'cloud', 'api_key.txt'), server.key, {
    mode: 0o600,
  });
  const args = ['cloud', '--server-url', server.url, '--task', 'WORK please'];
  // Nothing on the internet is asked, and a link is printed in one line.
  const env = {
    HOME: home,
    LITELLM_LOCAL_MODEL_COST_MAP: 'True',
    OPENHANDS_SUPPRESS_BANNER: '1',
    COLUMNS: '200',
  };
  const { stdout } = await runClient(openhands, args, env);
  const [link = '', id = ''] = /http\S+\/conversations\/([0-9a-f]{32})/.exec(stdout) ?? [];
  expect(link, stdout).toBe(`${server.url}/conversations/${id}`);
  await server.acs('conv', 'wait', id);
  const page = await fetch(link);
  expect([page.status, await page.text()]).toEqual([
    401,
    expect.stringContaining(`acs conv open ${id}`),
  ]);
  const { status, created_at } = json<ConversationJson>(
    await server.acs('conv', 'show', id, '--json'),
  );
  const { items } = json<ListJson<EventJson>>(await server.acs('conv', 'events', id, '--json'));
  const seconds = (Date.parse(items.at(-1)?.timestamp ?? '') - Date.parse(created_at)) / 1000;
  return { client: release, id, status, events: items, seconds };
}
