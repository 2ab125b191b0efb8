import { describe, expect, it } from 'vitest';
import { blankConversation, NO_STATUS } from '../../../src/domain/conversation.ts';
import { createBusyWatch } from '../../../src/client/v1/quirks/busy-sandbox.ts';
import { idleClock, TestClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { ID } from '../support/v1-server.ts';

const at = useV1({ noun: 'conv', clock: () => idleClock(30) });

describe('conv stop', () => {
  /** The record has no status after the stop, and another one at the 12th read. */
  function reads(word: string | null): () => number {
    const record = at.v1.addConversation();
    let looks = 0;
    at.v1.before = ({ method, path }) => {
      if (record['execution_status'] === null && path === '/api/v1/app-conversations') looks += 1;
      if (looks === 12) record['execution_status'] = word;
      if (method !== 'POST' || !path.endsWith('/interrupt')) return null;
      record['execution_status'] = null;
      return { json: { success: true } };
    };
    return () => looks;
  }

  it('reports the stop when the run has stopped, not when the busy sandbox returns no status', async () => {
    const looks = reads('paused');
    await at.ends(`stop ${ID} --json`, { out: { status: 'paused', changed: true } });
    expect(looks()).toBe(12);
  });

  it('reports an unknown status, not a run in progress, when the sandbox never returns one', async () => {
    reads(null);
    await at.ends(`stop ${ID}`, { code: 124, err: 'its sandbox reports no status' });
  });
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
      expect(
        isBusy({ ...record, execution_status: 'running', sandbox_status: 'running' }, false),
      ).toBe(false);
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
