import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS } from '../../../src/domain/conversation.ts';
import { createBusyWatch } from '../../../src/servers/quirks/busy-sandbox.ts';
import { idleClock } from '../../support/idle-clock.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { invoke } from '../../support/world.ts';
import { followedV1 } from '../support/followed-v1.ts';
import { event, ID, KEY, status } from '../support/v1-world.ts';

const v1 = followedV1();

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

it('conv stop reports the stop when the run has stopped, not when the busy sandbox returns no status', async () => {
  const record = v1.world.conversations.get(ID)!;
  let looks = 0;
  v1.world.before = ({ method, path: route }) => {
    if (method === 'POST' && route.endsWith('/interrupt')) {
      record['execution_status'] = null;
      return { json: { success: true } };
    }
    if (record['execution_status'] === null && route === '/api/v1/app-conversations') looks += 1;
    if (looks === 12) record['execution_status'] = 'paused';
    return null;
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: v1.world.fake.url, ACS_API_KEY: KEY };
  const args = ['conv', 'stop', ID, '--json'];
  const { code, out, err } = await invoke({ args, cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ status: 'paused', changed: true });
  expect(looks).toBe(12);
});

it('conv stop reports an unknown status, not a running run, when the sandbox never returns one', async () => {
  const record = v1.world.conversations.get(ID)!;
  v1.world.before = ({ method, path: route }) => {
    if (method !== 'POST' || !route.endsWith('/interrupt')) return null;
    record['execution_status'] = null;
    return { json: { success: true } };
  };
  const env = { HOME: dir, ACS_CONFIG_DIR: dir, ACS_BASE_URL: v1.world.fake.url, ACS_API_KEY: KEY };
  const { code, err } = await invoke({ args: ['conv', 'stop', ID], cwd: dir, env, clock: idleClock(30) });
  expect(code, err).toBe(124);
  expect(err).toContain('its sandbox reports no status');
});

describe('a record that a follower reads', () => {
  const record = { ...blankConversation('c', 'failed'), sandbox_status: 'error' } as const;
  const missing = { ...record, status: NO_STATUS, sandbox_status: 'running' } as const;

  it.each([
    ['of a sandbox in error', record, 10_000],
    ['without a status', missing, 15_000],
  ])('%s may recover for a limited time, each time anew', async (_, read, limitMs) => {
    const clock = new TestClock();
    const isBusy = createBusyWatch(clock);
    await clock.pass(60_000);
    for (let time = 0; time < 2; time++) {
      expect(isBusy(read, false)).toBe(true);
      await clock.pass(limitMs - 1);
      expect(isBusy(read, false)).toBe(true);
      await clock.pass(1);
      expect(isBusy(read, false)).toBe(false);
      expect(isBusy({ ...record, execution_status: 'running', sandbox_status: 'running' }, false)).toBe(false);
    }
  });

  it('of a sandbox in error has its own limit after one without a status', async () => {
    const clock = new TestClock();
    const isBusy = createBusyWatch(clock);
    expect(isBusy(missing, false)).toBe(true);
    await clock.pass(14_000);
    expect(isBusy(record, false)).toBe(true);
    await clock.pass(9_999);
    expect(isBusy(record, false)).toBe(true);
  });

  it.each([
    ['with a reason for the failure', record, true],
    ['with the word of the run', { ...record, execution_status: 'error' }, false],
    ['of a sandbox that does not run', { ...record, sandbox_status: 'missing' } as const, false],
  ])('%s is delivered', (_, read, hasReason) => {
    expect(createBusyWatch(new TestClock())(read, hasReason)).toBe(false);
  });
});

describe('following', () => {
  it('delivers a status that stays missing, and the status after it', async () => {
    v1.world.conversations.get(ID)!['execution_status'] = null;
    v1.follow();
    await until(() => v1.lines.includes('=unknown(no-status)'));
    v1.world.conversations.get(ID)!['execution_status'] = 'finished';
    v1.world.agentEvents.push(event('ActionEvent', { tool_name: 'x' }), status('finished'));
    await until(() => v1.lines.includes('=finished'));
  });

  const broken = { sandbox_status: 'ERROR', execution_status: null, conversation_url: null, session_api_key: null };

  it('does not end the run when a busy sandbox is reported as in error for a while', async () => {
    v1.follow();
    await until(() => v1.lines.includes('=running'));
    const before = { ...v1.world.conversations.get(ID)! };
    const looks = (): number => v1.world.fake.asked.filter(({ path }) => path === '/api/v1/app-conversations').length;
    Object.assign(v1.world.conversations.get(ID)!, broken);
    for (const socket of v1.world.fake.sockets) socket.close(1011);
    const from = looks();
    await until(() => looks() >= from + 3);
    Object.assign(v1.world.conversations.get(ID)!, before, { execution_status: 'finished' });
    v1.world.agentEvents.push(status('finished'));
    await until(() => v1.lines.includes('=finished'));
    expect(v1.lines).not.toContain('=failed');
  });

  it('reports a run as failed when its sandbox stays in error', async () => {
    v1.follow();
    await until(() => v1.lines.includes('=running'));
    Object.assign(v1.world.conversations.get(ID)!, broken);
    for (const socket of v1.world.fake.sockets) socket.close(1011);
    await until(() => v1.lines.includes('=failed'));
  });
});
