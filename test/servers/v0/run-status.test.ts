import { describe, expect, it } from 'vitest';
import { reasonOfStateV0, reasonV0, runStateV0 } from '../../../src/servers/v0/run-status.ts';

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
