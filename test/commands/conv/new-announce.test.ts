import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { leapClock, type LeapClock } from '../../support/leap-clock.ts';
import { recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type Ended, type Invocation, type World } from '../../support/world.ts';
import { finish, json, jsonLines, replayFile, run, until } from './support.ts';

let world: World;
let proxy: RecordingProxy;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  proxy = await recordingProxy(world.service.url);
});
afterAll(async () => {
  await proxy.close();
  await world.close();
});
beforeEach(() => {
  proxy.requests.length = 0;
});

const acsIn = (cwd: string, ...args: string[]): Promise<Ended> =>
  world.invoke({ args: ['conv', 'new', ...args], cwd, env: { ACS_BASE_URL: proxy.url } });
const acs = (...args: string[]): Promise<Ended> => acsIn(world.dir, ...args);
const sent = () => proxy.writes().map(({ method, path: route, body }) => ({ route: `${method} ${route}`, body }));

describe('conv new', () => {
  it('prints an id that conv show accepts at once', async () => {
    for (let start = 0; start < 3; start += 1) {
      const id = (await acs('--no-repo', '--replay', 'demo', '--no-wait', '-q')).out.trim();
      expect((await world.acs('conv', 'show', id, '--json')).code).toBe(0);
      expect((await world.acs('conv', 'wait', id)).code).toBe(0);
    }
  });

  it.each(['nowhere/run.id', '.'])(
    'exits 3 and starts nothing when the id file cannot be written: %s',
    async (file) => {
      const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', file);
      expect(ended.code).toBe(3);
      expect(ended.err).toContain('--id-file');
      expect(sent()).toEqual([]);
    },
  );

  it('-q prints only the id', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--wait', '-q');
    expect(ended.code).toBe(0);
    expect(ended.out).toMatch(/^[0-9a-f]{32}\n$/);
  });

  it('--follow prints the id first, then the events, and the outcome last', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--follow', '--format', 'ndjson');
    const lines = jsonLines<{ type: string; id?: string; exit_code?: number }>(ended.out);
    expect(lines[0]).toEqual({ type: 'started', id: expect.stringMatching(/^[0-9a-f]{32}$/) as string, url: null });
    expect(new Set(lines.slice(1, -1).map(({ type }) => type))).toEqual(new Set(['event']));
    expect(lines.at(-1)).toMatchObject({ type: 'outcome', exit_code: 0 });
  });

  it('prints the id on stderr and writes it to --id-file', async () => {
    const ended = await acs('--no-repo', '--replay', 'demo', '--id-file', 'run.id', '--json');
    const { id } = json(ended);
    expect(ended.err).toContain(`conversation ${id}`);
    expect(await readFile(path.join(world.dir, 'run.id'), 'utf8')).toBe(`${id}\n`);
  });

  it('prints the deadline once while it follows', async () => {
    const ended = await pastDeadline('--follow', '--stop-on-timeout');
    expect(ended.code).toBe(124);
    expect(`${ended.out}${ended.err}`.match(/was stopped|goes on|still running/g)).toEqual(['was stopped']);
  });

  /** Follows a run, and calls `then` when the command has printed that it is running. */
  async function waitedFor(
    then: (clock: LeapClock) => void,
    flags: string[],
    rest: Partial<Invocation> = {},
  ): Promise<Ended> {
    const clock = leapClock();
    let printed = '';
    const keep = (text: string) => (printed += text);
    const replay = await replayFile(world, 'long.json', [run('sleep 600'), finish('done')]);
    const args = ['conv', 'new', '--no-repo', '--replay', replay, ...flags];
    const waiting = world.invoke({ args, onOut: keep, onErr: keep, clock, ...rest });
    await until(() => /conversation \w+: running|· running/.test(printed));
    then(clock);
    return await waiting;
  }

  async function pastDeadline(...flags: string[]): Promise<Ended> {
    return await waitedFor((clock) => clock.leap(30 * 60_000), ['--wait-timeout', '30m', ...flags]);
  }
});
