import { beforeAll, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Reply } from '../support/server.ts';
import { TestClock } from '../support/test-clock.ts';
import { errorOf, useWorld, type Ending } from '../support/use-world.ts';
import type { Invocation } from '../support/world.ts';

/**
 * One way to each exit code; what leads to it in detail is tested where it happens, 129 to 143 in
 * pipes.test.ts.
 */
const at = useWorld({ api: 'v1', spec: 'process' });
const DEMO = 'conv new --no-repo --replay demo';
const LONG = 'conv new --no-repo --replay long.json';
const SEARCH = 'GET /api/v1/app-conversations/search';
const START = 'POST /api/v1/app-conversations';
/** Pauses between repeated requests are over at once. */
const quick = (): Clock => new TestClock({ movedBy: 'sleeps', startMs: Date.now() });

let done: string;
beforeAll(async () => {
  done = (await at.world.acs(...DEMO.split(' '), '--wait', '-q')).out.trim();
  await at.file('long.json', [
    { action: 'run', args: { command: 'sleep 600' } },
    { action: 'finish', args: { final_thought: 'x' } },
  ]);
});

async function ends(
  code: number,
  kind: string,
  line: string,
  more: Ending & Partial<Invocation> = {},
): Promise<void> {
  expect(errorOf(await at.ends(`${line} --json`, { code, ...more }))['code']).toBe(kind);
}

it.each<[number, string, string, (Ending & Partial<Invocation>)?, Reply?]>([
  [2, 'usage', 'conv list --colour'],
  [3, 'config', 'conv list', { env: { ACS_BASE_URL: undefined, ACS_API_KEY: undefined } }],
  [4, 'auth', 'conv list', { env: { ACS_API_KEY: 'wrong' } }],
  [5, 'not-found', `conv show ${'f'.repeat(32)}`],
  [
    7,
    'rate-limited',
    'conv list',
    { clock: quick() },
    { status: 429, json: {}, headers: { 'retry-after': '0' } },
  ],
  [
    9,
    'server',
    'conv list',
    { err: 'text/html' },
    { text: '<html>Welcome</html>', type: 'text/html' },
  ],
  [10, 'network', 'conv list --base-url http://127.0.0.1:1', { clock: quick() }],
  [12, 'unsupported', 'conv new hello --no-repo --api v0'],
])('the exit code is %i for %s: %s', async (code, kind, line, more, reply) => {
  if (reply !== undefined) at.script({ [SEARCH]: reply });
  await ends(code, kind, line, more);
});

it('the exit code is 0 when the run finished, and 1 when it failed', async () => {
  await at.ends(`conv wait ${done}`, {});
  await at.ends(`conv send ${done} more --wait`, { code: 1 });
});

it('the exit code is 6 for conflict: the sandbox is paused', async () => {
  const { id, sandbox_id } = await at.json<{ id: string; sandbox_id: string }>(`${DEMO} --wait`);
  await at.ends(`sandbox pause ${sandbox_id}`, {});
  await ends(6, 'conflict', `conv send ${id} hello`);
});

it('the exit code is 8 for needs-input: the run waits for a confirmation', async () => {
  await at.ends('settings set confirmation_mode=true', {});
  await at.ends(`${LONG} --wait`, { code: 8 });
  await at.ends('settings set confirmation_mode=false', {});
});

it('the exit code is 11 for unknown-outcome: a start whose answer was lost and that cannot be looked up', async () => {
  let isBroken = false;
  at.script(({ method, path }) => {
    isBroken ||= `${method} ${path}` === START;
    return isBroken ? { cut: true } : null;
  });
  await ends(11, 'unknown-outcome', DEMO, { clock: quick() });
});

it('the exit code is 70 for internal: a bug in acs', async () => {
  const now = () => {
    throw new RangeError('there is no time');
  };
  await ends(70, 'internal', 'conv list', {
    clock: { now, sleep: () => Promise.resolve() },
    err: 'there is no time',
  });
});

it('the exit code is 124 for timeout: the deadline of the command passed', async () => {
  await ends(124, 'timeout', `${LONG} --wait --timeout 500ms --stop-on-exit`);
});

it('the exit code of a start whose answer was lost is 0 when it can be looked up, and nothing is sent twice', async () => {
  at.script({ [START]: { cut: true, delivered: at.world.service.url } });
  await at.ends(DEMO, { writes: ['POST /api/v1/app-conversations'] });
});
