/** What clients of other makers do with the local service: each release that is pinned. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { setUp } from '../genuine/set-up.mjs';
import { conversingCases } from './conversing.ts';
import { agentServerOf, events, finished, started, type EventJson } from './support.ts';
import { STEP_MS, type ContractCase, type Target } from './target.ts';

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
