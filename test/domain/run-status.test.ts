import { describe, expect, it } from 'vitest';
import { reasonOfStateV0, reasonV0, runStateV0, runStateV1, sandboxStatus } from '../../src/domain/run-status.ts';

describe('the status of a V1 run', () => {
  it.each([
    ['idle', 'idle', 'user'],
    ['running', 'running', null],
    ['RUNNING', 'running', null],
    ['paused', 'paused', null],
    ['waiting_for_confirmation', 'waiting', 'confirmation'],
    ['finished', 'finished', null],
    ['error', 'failed', null],
    ['stuck', 'stuck', null],
    ['deleting', 'unknown(deleting)', null],
  ])('reads %s as %s', (word, status, waiting_for) => {
    expect(runStateV1(word, 'running')).toEqual({ status, waiting_for });
  });

  it.each([
    ['starting', 'starting'],
    ['running', 'unknown(no-status)'],
    ['paused', 'paused'],
    ['missing', 'archived'],
    ['error', 'failed'],
    [null, 'unknown(no-status)'],
  ] as const)('without a word follows the sandbox: %s is %s', (sandbox, status) => {
    expect(runStateV1(null, sandbox).status).toBe(status);
  });

  it.each([
    ['finished', 'paused', 'finished'],
    ['finished', 'starting', 'finished'],
    ['finished', 'error', 'finished'],
    ['error', 'missing', 'failed'],
    ['stuck', 'paused', 'stuck'],
    ['running', 'paused', 'paused'],
    ['idle', 'paused', 'paused'],
    ['paused', 'starting', 'starting'],
    ['running', 'missing', 'archived'],
    ['deleting', 'paused', 'paused'],
  ] as const)(
    'keeps an ended run ended when its sandbox does not run, and no other: %s, %s is %s',
    (word, sandbox, status) => {
      expect(runStateV1(word, sandbox)).toEqual({ status, waiting_for: null });
    },
  );

  it('is waiting for a confirmation while its sandbox is paused, and no longer when the sandbox is gone', () => {
    const word = 'waiting_for_confirmation';
    expect(runStateV1(word, 'paused')).toEqual({ status: 'waiting', waiting_for: 'confirmation' });
    expect(runStateV1(word, 'starting').status).toBe('starting');
    expect(runStateV1(word, 'missing').status).toBe('archived');
    expect(runStateV1(word, 'error').status).toBe('failed');
  });
});

describe('the status of a V0 run', () => {
  const state = (status: string, agentState: string | null, answered: 'yes' | 'no' | 'unknown' = 'no') =>
    runStateV0({ status, agentState, answered });

  it('follows the agent while the conversation runs', () => {
    expect(state('RUNNING', null).status).toBe('running');
    expect(state('RUNNING', 'loading').status).toBe('starting');
    expect(state('RUNNING', 'error').status).toBe('failed');
    expect(state('RUNNING', 'awaiting_user_confirmation')).toEqual({ status: 'waiting', waiting_for: 'confirmation' });
    expect(state('RUNNING', 'hatching').status).toBe('unknown(hatching)');
  });

  it('is finished when the agent waits for the user after it has answered', () => {
    expect(state('RUNNING', 'awaiting_user_input', 'yes').status).toBe('finished');
    expect(state('RUNNING', 'awaiting_user_input', 'no')).toEqual({ status: 'idle', waiting_for: 'user' });
  });

  it('keeps its end when the conversation is stopped or archived', () => {
    expect(state('STOPPED', 'finished').status).toBe('finished');
    expect(state('STOPPED', 'running').status).toBe('stopped');
    expect(state('ARCHIVED', 'error').status).toBe('failed');
    expect(state('ARCHIVED', null).status).toBe('archived');
    expect(state('STARTING', 'finished').status).toBe('starting');
    expect(state('MOLTING', null).status).toBe('unknown(molting)');
  });

  it('reads the reason of a failure', () => {
    expect(reasonV0('STATUS$ERROR_LLM_AUTHENTICATION')?.code).toBe('ERROR_LLM_AUTHENTICATION');
    expect(reasonV0('too many steps')).toEqual({ code: 'error', text: 'too many steps' });
    expect(reasonV0('')).toBeNull();
    expect(reasonOfStateV0('failed', 'error', 'too many steps')?.code).toBe('error');
    expect(reasonOfStateV0('running', 'rate_limited', '')?.code).toBe('rate-limited');
    expect(reasonOfStateV0('running', 'running', '')).toBeNull();
    expect(reasonOfStateV0('stopped', 'rate_limited', '')).toBeNull();
  });
});

it('a sandbox status that is not known yet is shown as such', () => {
  expect([sandboxStatus('PAUSED'), sandboxStatus('SHELVED'), sandboxStatus(null)]).toEqual([
    'paused',
    'unknown(shelved)',
    null,
  ]);
});
