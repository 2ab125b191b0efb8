/** Changes that a server accepts and does not carry out: no command reports them as done. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LooseOptions } from '../servers/support/loose-server.ts';
import { createV0Server, happens, stateChanges, userSays, V0_ID } from './support/v0.ts';
import { fakeTrap, looseTrap, type FakeTrap, type LooseTrap } from './support/trap.ts';

let trap: LooseTrap | FakeTrap;
afterEach(() => trap.close());

const json = <T = Record<string, unknown>>({ out }: { out: string }): T => JSON.parse(out) as T;

async function at(message: string, options: LooseOptions): Promise<{ id: string; sandbox: string; server: LooseTrap }> {
  const server = await looseTrap(options);
  trap = server;
  const started = await server.acs('conv', 'new', message, '--no-repo', '--json');
  expect(started.code, started.err).toBe(0);
  const { id, sandbox_id: sandbox } = json<{ id: string; sandbox_id: string }>(started);
  return { id, sandbox, server };
}

describe('a rejection that changes nothing', () => {
  it('makes conv confirm exit 6, and names the action that still waits', async () => {
    const { id, server } = await at('CONFIRM', { ignores: ['rejection'] });
    const { code, out, err } = await server.acs('conv', 'confirm', id, '--reject', '--json');
    expect({ code, out }).toEqual({ code: 6, out: '' });
    expect(err).toContain('still waits');
    expect(json(await server.acs('conv', 'show', id, '--json'))).toMatchObject({ status: 'waiting' });
  });

  it('that pauses the run makes conv confirm exit 6 too', async () => {
    const { id, server } = await at('CONFIRM', { ignores: ['rejection'] });
    server.before = ({ path }) => {
      const conversation = server.conversations.get(id);
      if (path.endsWith('/respond_to_confirmation') && conversation) conversation.state = 'paused';
      return null;
    };
    expect(await server.acs('conv', 'confirm', id, '--reject')).toMatchObject({ code: 6 });
  });

  it('makes conv send --reject exit 6, and the message is not sent', async () => {
    const { id, server } = await at('CONFIRM', { ignores: ['rejection'] });
    expect(await server.acs('conv', 'send', id, 'do it differently', '--reject')).toMatchObject({ code: 6 });
    expect(server.conversations.get(id)?.events.filter(({ kind }) => kind === 'MessageEvent')).toHaveLength(1);
  });

  it('makes conv follow --on-confirm reject exit 6', async () => {
    const { id, server } = await at('CONFIRM', { ignores: ['rejection'] });
    expect(await server.acs('conv', 'follow', id, '--on-confirm', 'reject')).toMatchObject({ code: 6 });
  });

  it('over V0 makes conv confirm exit 6', async () => {
    const older = createV0Server();
    older.before = ({ method }) => (method === 'POST' ? { json: { success: true } } : null);
    older.record['status'] = 'RUNNING';
    userSays(older, 'do it');
    happens(older, { source: 'agent', message: '', action: 'run', args: { command: 'ls' } });
    stateChanges(older, 'awaiting_user_confirmation');
    const server = await fakeTrap(older.handler);
    trap = server;
    const { code, err } = await server.acs('conv', 'confirm', V0_ID, '--reject');
    expect(code, err).toBe(6);
    expect(err).toContain('still waits');
  });
});

it('a rejection that is carried out is reported', async () => {
  const { id, server } = await at('CONFIRM', {});
  expect(json(await server.acs('conv', 'confirm', id, '--reject', '--json'))).toMatchObject({
    answer: 'rejected',
    changed: true,
  });
});

describe('conv stop', () => {
  it('exits 124 when the run goes on', async () => {
    const { id, server } = await at('WORK', { ignores: ['stop'] });
    expect(await server.acs('conv', 'stop', id)).toMatchObject({ code: 124, out: '' });
  });

  it('of a run that ends by itself at the same moment reports no change', async () => {
    const { id, server } = await at('WORK', { ignores: ['stop'] });
    server.before = ({ path }) => {
      const conversation = server.conversations.get(id);
      if (path.endsWith('/interrupt') && conversation) conversation.state = 'finished';
      return null;
    };
    const ended = await server.acs('conv', 'stop', id, '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'finished', changed: false });
  });

  it('of a run that has ended sends nothing and reports no change', async () => {
    const { id, server } = await at('hello', {});
    server.fake.asked.length = 0;
    expect(json(await server.acs('conv', 'stop', id, '--json'))).toMatchObject({ status: 'finished', changed: false });
    expect(server.fake.lines().filter((line) => line.startsWith('POST'))).toEqual([]);
  });
});

describe('sandbox pause', () => {
  it('exits 124 when the sandbox goes on running', async () => {
    const { sandbox, server } = await at('hello', { ignores: ['pause'] });
    const { code, err } = await server.acs('sandbox', 'pause', sandbox, '--wait-timeout', '20s');
    expect({ code, err }).toMatchObject({ code: 124, err: expect.stringContaining('running') as string });
  });

  it('with --no-wait reports no change while the sandbox is as it was', async () => {
    const { sandbox, server } = await at('hello', { ignores: ['pause'] });
    const ended = await server.acs('sandbox', 'pause', sandbox, '--no-wait', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ status: 'running', changed: false });
  });
});

describe('settings set', () => {
  it.each([
    ['V1', {}],
    ['V0', { v0: true, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] }],
  ])('over %s exits 9 with both values when the server stores nothing', async (_, options) => {
    const { server } = await at('hello', { ...options, ignores: ['settings'] });
    const { code, out, err } = await server.acs('settings', 'set', 'llm_model=openai/other', '--json');
    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain('openai/other');
    expect(err).toContain('openai/gpt-4o');
  });

  it.each([
    ['V1', {}],
    ['V0', { v0: true, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] }],
  ])('over %s reports a value that the server returns afterwards', async (_, options) => {
    const { server } = await at('hello', options);
    const ended = await server.acs('settings', 'set', 'llm_model=openai/other', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ llm_model: 'openai/other', changed: true });
  });
});
