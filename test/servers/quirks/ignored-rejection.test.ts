import { describe, expect, it } from 'vitest';
import { json, useLooseStarts } from '../../traps/support/loose-starts.ts';
import { fakeTrap } from '../../traps/support/trap.ts';
import { createV0Server, happens, stateChanges, userSays, V0_ID } from '../../traps/support/v0.ts';

const { at } = useLooseStarts();

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
    try {
      const { code, err } = await server.acs('conv', 'confirm', V0_ID, '--reject');
      expect(code, err).toBe(6);
      expect(err).toContain('still waits');
    } finally {
      await server.close();
    }
  });
});

it('a rejection that is carried out is reported', async () => {
  const { id, server } = await at('CONFIRM', {});
  expect(json(await server.acs('conv', 'confirm', id, '--reject', '--json'))).toMatchObject({
    answer: 'rejected',
    changed: true,
  });
});
