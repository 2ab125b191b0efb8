/** What clients of other makers do with the local service: each release of openhands-sdk that is pinned. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { setUp } from '../genuine/set-up.mjs';
import { agentServerOf, events, finished, started, type EventJson } from './support.ts';
import type { ContractCase, Target } from './target.ts';

const SCRIPT = path.join(import.meta.dirname, '..', 'genuine', 'attach.py');
/** A bound for a client that never ends; on a loaded machine it takes half a minute to load. */
const CLIENT_TIMEOUT_MS = 400_000;

interface Attached {
  sdk: string;
  status: string;
  events: { id: string; kind: string; source: string }[];
  /** What came of `--file`. */
  files?: { errors: (string | null)[]; printed: string; downloaded: string | null };
}

/** Attaches the SDK to the conversation; flags as attach.py has them. */
async function attach(python: string, target: Target, id: string, ...flags: string[]): Promise<Attached> {
  const { url: host, key } = await agentServerOf(target, id);
  const args = [SCRIPT, '--host', host, '--id', id, ...flags];
  const env = { PATH: process.env.PATH, HOME: target.dir, SESSION_API_KEY: key };
  const options = { env, cwd: target.dir, timeout: CLIENT_TIMEOUT_MS, maxBuffer: 64 * 1024 ** 2 };
  const { stdout } = await promisify(execFile)(python, args, options);
  return JSON.parse(stdout) as Attached;
}

/** The client has every stored event, once and in order; beside them only what its socket alone is sent. */
function expectEveryEvent(read: Attached['events'], stored: EventJson[]): void {
  const ids = stored.map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(0);
  expect(read.map(({ id }) => id).filter((id) => ids.includes(id))).toEqual(ids);
  const others = read.filter(({ id }) => !ids.includes(id)).map(({ kind }) => kind);
  expect(others.filter((kind) => kind !== 'ConversationStateUpdateEvent')).toEqual([]);
}

/** The cases of one release of openhands-sdk; `release` as in SDKS. */
export function clientCases(release: string): ContractCase[] {
  const python = async (): Promise<string> => setUp(release, () => {});
  const version = release.replace('sdk-', '');
  return [
    {
      name: 'attaches to a replayed conversation and reads every event',
      async run(target) {
        const id = await finished(target, 'v1', 'WORK');
        const read = await attach(await python(), target, id);
        expect(read).toMatchObject({ sdk: version, status: 'finished' });
        expectEveryEvent(read.events, await events(target, id));
      },
    },
    {
      name: 'attached to a run under way, gets each event and the end of the run',
      async run(target) {
        const { id } = await started(target, 'v1', 'SLOW');
        const read = await attach(await python(), target, id, '--until', 'finished');
        expect(read).toMatchObject({ sdk: version, status: 'finished' });
        expectEveryEvent(read.events, await events(target, id));
      },
    },
    {
      name: 'uploads a file, reads it with a command and downloads it',
      async run(target) {
        const text = 'one line, and one more\nwith ümlauts';
        const { files } = await attach(await python(), target, await finished(target, 'v1'), '--file', text);
        expect(files).toEqual({ errors: [null, null], printed: text, downloaded: text });
      },
    },
  ];
}
