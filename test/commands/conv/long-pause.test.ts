import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { createV1World, ID, KEY, type V1World } from '../../servers/support/v1-world.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { invoke, type Ended, type Invocation } from '../../support/world.ts';
import { until } from './support.ts';

let world: V1World;
let dir: string;
let interruption: AbortController;
/** What the command has written to stderr so far. */
let said: string;

// A server that sends `Retry-After` of half a minute.
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
  world = await createV1World();
  world.addConversation();
  interruption = new AbortController();
  said = '';
});
afterEach(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

function becomeBusy(): void {
  world.before = ({ path: route }) =>
    route === '/api/v1/app-conversations'
      ? { status: 429, headers: { 'retry-after': '30' }, json: { error: 'Rate limit exceeded' } }
      : null;
}

function acs(args: string[], rest: Partial<Invocation> = {}): Promise<Ended> {
  return invoke({
    args,
    cwd: dir,
    env: { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: world.fake.url, ACS_API_KEY: KEY },
    signal: interruption.signal,
    onErr: (text) => (said += text),
    ...rest,
  });
}

it('a long Retry-After prints one notice, an object with --json, and Ctrl-C ends the pause', async () => {
  becomeBusy();
  const showing = acs(['conv', 'show', ID, '--json']);
  await until(() => said.includes('asks to wait'));
  interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
  const { code, err } = await showing;
  const notices = err.split('\n').filter((line) => line.startsWith('{"notice"'));
  expect({ code, notices }).toEqual({
    code: 130,
    notices: [`{"notice":"${world.fake.url} answers 429 and asks to wait: 30 s"}`],
  });
});

it('conv wait exits at its deadline when Retry-After is longer', async () => {
  world.agentEvents = [];
  const waiting = acs(['conv', 'wait', ID, '--wait-timeout', '1m'], { clock: idleClock(30) });
  await until(() => world.fake.asked.some(({ path: route }) => route.startsWith('/agent/')));
  becomeBusy();
  const { code, err } = await waiting;
  expect({ code, err }).toMatchObject({ code: 124, err: expect.stringContaining(ID) as string });
});
