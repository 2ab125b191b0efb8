import { describe, expect, it } from 'vitest';
import { afterStopping } from '../../../src/commands/conv/new-stop.ts';
import type { Context } from '../../../src/context.ts';
import { blankConversation, type Conversation } from '../../../src/domain/conversation.ts';
import { AppError } from '../../../src/errors.ts';
import type { Server } from '../../../src/servers/server.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { Ended } from '../../support/world.ts';
import { pastDeadline, useNewWorld, waitedFor } from './new-world.ts';
import { errorOf, json } from './support.ts';

const at = useNewWorld();
const { acs } = at;

describe('conv new', () => {
  it('--stop-on-timeout stops the run at the deadline', async () => {
    const ended = await pastDeadline(at.world, '--wait', '--stop-on-timeout', '--json');
    expect(ended.code).toBe(124);
    expect(json(ended)).toMatchObject({ status: 'paused', outcome: { status: 'paused', reason: { code: 'timeout' } } });
    expect(errorOf(ended)).toMatchObject({
      code: 'timeout',
      message: `the time limit of 30m has passed; conversation ${json(ended).id} was stopped`,
      hint: `see its status: acs conv show ${json(ended).id}`,
      last_status: 'paused',
    });
    expect(json(await at.world.acs('conv', 'show', json(ended).id, '--json')).status).toBe('paused');
  });

  it('an interrupt prints that the run continues, and the command that stops it', async () => {
    const ended = await interrupted();
    expect(ended.out, ended.err).not.toBe('');
    expect(ended.code).toBe(143);
    const { id } = json(ended);
    expect(json(ended).outcome).toMatchObject({ exit_code: 143, reason: { code: 'interrupted' } });
    expect(errorOf(ended)).toMatchObject({
      code: 'interrupted',
      hint: expect.stringContaining(`acs conv stop ${id}`) as string,
    });
    expect(json(await at.world.acs('conv', 'show', id, '--json')).status).toBe('running');
    expect(json(await at.world.acs('conv', 'stop', id, '--json'))).toMatchObject({ status: 'paused', changed: true });
  });

  it('--stop-on-interrupt stops the run on an interrupt', async () => {
    const ended = await interrupted('--stop-on-interrupt');
    expect(ended.out, ended.err).not.toBe('');
    expect(ended.code).toBe(143);
    const { id } = json(ended);
    expect(errorOf(ended)).toMatchObject({
      code: 'interrupted',
      message: `interrupted by SIGTERM; conversation ${id} was stopped`,
      last_status: 'paused',
    });
    expect(json(await at.world.acs('conv', 'show', id, '--json')).status).toBe('paused');
  });

  it.each(['an interrupt', 'a deadline'])('prints one status of the run that it stopped after %s', async (end) => {
    const isDeadline = end === 'a deadline';
    const ended = isDeadline
      ? await pastDeadline(at.world, '--wait', '--stop-on-timeout', '--json')
      : await interrupted('--stop-on-interrupt');
    const printed = json<Record<string, unknown>>(ended);
    const completed = json<Record<string, unknown>>(await acs('--no-repo', '--replay', 'demo', '--wait', '--json'));
    const members = (of: unknown) => Object.keys(of as object).filter((name) => name !== 'error');
    expect(members(printed)).toEqual(members(completed));
    expect(members(printed['outcome'])).toEqual(members(completed['outcome']));
    const code = isDeadline ? 'timeout' : 'interrupted';
    const { message } = errorOf(ended);
    const state = { status: 'paused', waiting_for: null, reason: { code, text: message } };
    expect(printed).toMatchObject({ ...state, execution_status: 'paused', error: { code, message } });
    expect(printed['outcome']).toMatchObject({ ...state, exit_code: ended.code, conversation_id: printed['id'] });
    const shown = json<Record<string, unknown>>(await at.world.acs('conv', 'show', String(printed['id']), '--json'));
    for (const field of ['status', 'execution_status', 'sandbox_status', 'cost_usd'])
      expect(printed[field], field).toEqual(shown[field]);
  });

  async function interrupted(...flags: string[]): Promise<Ended> {
    const interruption = new AbortController();
    const sigterm = new AppError('interrupted', 'interrupted by SIGTERM', { exitCode: 143 });
    const { signal } = interruption;
    return await waitedFor(at.world, () => interruption.abort(sigterm), ['--wait', '--json', ...flags], { signal });
  }
});

describe('the failure of a command that stops the run it has waited for', () => {
  const ID = '0123456789abcdef0123456789abcdef';
  const last = blankConversation(ID, 'running');
  const after = async (failure: AppError, stop: () => Promise<void>, status: Conversation['status']) => {
    const conversations = { stop, getComplete: () => Promise.resolve(blankConversation(ID, status)) };
    const server: Server = { withSignal: () => Promise.resolve(server), conversations } as unknown as Server;
    const ctx = { clock: new TestClock() } as unknown as Context;
    const options = { waitMs: 60_000, stopOnTimeout: true, stopOnInterrupt: true };
    return (await afterStopping(ctx, server, { failure, why: 'it took 1m', last }, options)).end;
  };
  const timeout = new AppError('timeout', 'too late', { data: { reason: 'timeout' }, retryable: true });

  it('has that a run which waits for a confirmation does not run', async () => {
    const error = await after(timeout, () => Promise.resolve(), 'waiting');
    expect(error).toMatchObject({
      kind: 'timeout',
      message: `it took 1m; conversation ${ID} waits for a confirmation and does not run until it is answered`,
      details: {
        hint: `see its status: acs conv show ${ID}`,
        retryable: true,
        data: { reason: 'timeout', id: ID, last_status: 'waiting' },
      },
    });
  });

  it('has why the run could not be stopped, and the command that stops it', async () => {
    const signal = new AppError('interrupted', 'SIGHUP', { exitCode: 129, server: 'http://127.0.0.1:9' });
    const error = await after(signal, () => Promise.reject(new AppError('network', 'no connection')), 'running');
    expect(error).toMatchObject({
      kind: 'interrupted',
      exitCode: 129,
      message: `it took 1m; conversation ${ID} could not be stopped (no connection) and continues`,
      details: {
        hint: `stop it: acs conv stop ${ID}   follow it: acs conv follow ${ID}`,
        server: 'http://127.0.0.1:9',
        data: { id: ID },
      },
    });
  });
});
