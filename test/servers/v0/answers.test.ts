/** Confirmations, runs and waking over V0, in the shapes of genuine servers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationAnswer, Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import { NOT_FOUND, startFake, type Asked, type FakeServer } from '../support/fake-server.ts';
import { recordings } from '../support/recordings.ts';

const accept: ConfirmationAnswer = { decision: 'accept', reason: null, action_id: null };

describe('over V0', () => {
  const older = recordings('1.6.0');
  const V0_ID = 'c3722f6b04ea4a4b8883a7dd7563356d';
  let fake: FakeServer;
  let server: Server;
  let posted: Asked[];
  let events: Record<string, unknown>[];
  let record: Record<string, unknown>;

  const state = (id: number, word: string) => ({
    id,
    timestamp: `2026-11-21T10:33:34.${String(100000 + id)}`,
    source: 'environment',
    message: '',
    observation: 'agent_state_changed',
    content: '',
    extras: { agent_state: word, reason: '' },
  });
  const message = (id: number) => ({
    id,
    timestamp: `2026-11-21T10:33:34.${String(100000 + id)}`,
    source: 'user',
    message: 'go',
    action: 'message',
    args: { content: 'go', image_urls: [] },
  });
  /** Why the server refuses what is posted. */
  let refusal: string | null;
  /** What happens with each look at the events after something was posted. */
  let looksAfterPost: (() => unknown)[];
  const runAction = (id: number) => ({
    id,
    timestamp: `2026-11-21T10:33:34.${String(100000 + id)}`,
    source: 'agent',
    message: 'Running command: ls -la',
    action: 'run',
    args: {
      command: 'ls -la',
      is_input: false,
      thought: 'Step 1.',
      confirmation_state: 'awaiting_confirmation',
      security_risk: 1,
    },
  });

  beforeEach(async () => {
    record = {
      ...(older.body('v0.error.401.record') as Record<string, unknown>),
      conversation_id: V0_ID,
      url: `/api/conversations/${V0_ID}`,
    };
    posted = [];
    refusal = null;
    looksAfterPost = [];
    fake = await startFake((asked) => {
      if (asked.method === 'POST') {
        posted.push(asked);
        return refusal === null ? { json: { success: true } } : { status: 409, json: { detail: refusal } };
      }
      if (asked.path === '/api/options/config') return older.reply('probe.options-config');
      if (asked.path === `/api/conversations/${V0_ID}`) return { json: record };
      if (asked.path !== `/api/conversations/${V0_ID}/events`) return NOT_FOUND;
      if (posted.length > 0) looksAfterPost.shift()?.();
      const reverse = asked.query.get('reverse') === 'true';
      return { json: { events: reverse ? events.toReversed() : events, has_more: false } };
    });
    server = await connectTo(fake.url);
  });
  afterEach(async () => {
    await server.close();
    await fake.close();
  });

  it.each([
    ['before', () => [message(0), state(1, 'running'), state(2, 'awaiting_user_confirmation'), runAction(3)]],
    ['after', () => [message(0), state(1, 'running'), runAction(2), state(3, 'awaiting_user_confirmation')]],
  ])('finds the pending action when the status event comes %s it', async (_order, story) => {
    events = story();
    const [pending] = await server.conversations.pending(V0_ID);
    looksAfterPost = [() => events.push(state(4, 'user_confirmed'))];
    expect(pending).toMatchObject({ kind: 'run', text: '$ ls -la', risk: 'medium' });
    await server.conversations.answer(V0_ID, { ...accept, action_id: pending?.action_id ?? '' });
    expect(posted).toMatchObject([
      { path: `/api/conversations/${V0_ID}/events`, body: { args: { agent_state: 'user_confirmed' } } },
    ]);
  });

  it('finds the pending action after another one was rejected, which servers send a second time', async () => {
    const again = { ...runAction(4), args: { command: 'ls -la', confirmation_state: 'rejected' } };
    const rejected = { ...state(6, ''), observation: 'user_rejected', source: 'agent', cause: 4, extras: {} };
    const nothing = { ...state(12, ''), observation: 'null', source: 'agent', cause: 11, extras: {} };
    events = [message(0), state(1, 'running'), state(2, 'awaiting_user_confirmation'), runAction(3), again];
    events.push(state(5, 'user_rejected'), rejected, state(7, 'awaiting_user_input'));
    expect(await server.conversations.pending(V0_ID)).toEqual([]);
    events.push(message(8), state(9, 'running'), state(10, 'awaiting_user_confirmation'));
    expect(await server.conversations.pending(V0_ID)).toEqual([]);
    events.push(runAction(11), nothing);
    expect(await server.conversations.pending(V0_ID)).toMatchObject([{ action_id: '11' }]);
  });

  it('waits until the agent has processed an answer: until then the events show it as pending', async () => {
    events = [message(0), runAction(1), state(2, 'awaiting_user_confirmation')];
    looksAfterPost = [() => undefined, () => events.push(runAction(3)), () => events.push(state(4, 'user_confirmed'))];
    await server.conversations.answer(V0_ID, accept);
    expect(looksAfterPost).toEqual([]);
    events = [message(0), state(2, 'paused')];
    await server.conversations.run(V0_ID); // the server never reports it, which is not a failure
    expect(posted).toHaveLength(2);
  });

  it('sends an answer in no other state: a finished conversation would hang', async () => {
    for (const word of ['finished', 'running', 'awaiting_user_input', 'error']) {
      events = [message(0), runAction(1), state(2, word)];
      expect((await failure(server.conversations.answer(V0_ID, accept))).kind).toBe('conflict');
    }
    expect(posted).toEqual([]);
  });

  it('refuses a reason with a rejection', async () => {
    events = [message(0), runAction(1), state(2, 'awaiting_user_confirmation')];
    const refused = await failure(
      server.conversations.answer(V0_ID, { decision: 'reject', reason: 'no', action_id: null }),
    );
    expect(refused.kind).toBe('unsupported');
    expect(posted).toEqual([]);
  });

  it('sends no message while an action is pending', async () => {
    events = [message(0), runAction(1), state(2, 'awaiting_user_confirmation')];
    expect((await failure(server.conversations.send(V0_ID, { text: 'x', image_urls: [] }))).kind).toBe('needs-input');
    expect((await failure(server.conversations.run(V0_ID))).kind).toBe('needs-input');
    expect(posted).toEqual([]);
  });

  it('does not resume an agent that waits for a message, because it would do nothing', async () => {
    events = [message(0), runAction(1), state(2, 'stopped'), state(3, 'loading'), state(4, 'awaiting_user_input')];
    const refused = await failure(server.conversations.run(V0_ID));
    expect(refused.kind).toBe('needs-input');
    expect(refused.details.hint).toContain('acs conv send');
    expect(posted).toEqual([]);
  });

  it.each([
    ['Conversation is waiting for confirmation. Accept or reject the pending action first.', 'needs-input'],
    ['No conversation', 'conflict'],
  ])('does not continue when the server reports meanwhile: %s', async (words, kind) => {
    events = [message(0), runAction(1), state(2, 'paused')];
    refusal = words;
    expect((await failure(server.conversations.run(V0_ID))).kind).toBe(kind);
  });

  it('resumes with a start, and continues an agent that is stopped', async () => {
    events = [message(0), runAction(1), state(2, 'stopped')];
    record = { ...record, status: 'STOPPED' };
    expect((await failure(server.conversations.run(V0_ID))).kind).toBe('conflict');
    await server.conversations.startSandbox(V0_ID);
    expect(posted).toMatchObject([{ path: `/api/conversations/${V0_ID}/start`, body: {} }]);
    record = { ...record, status: 'RUNNING' };
    events = [...events, state(3, 'loading'), state(4, 'paused')];
    expect(await server.conversations.run(V0_ID)).toBe('started');
    expect(posted[1]?.body).toEqual({ action: 'change_agent_state', args: { agent_state: 'running' } });
    for (const word of ['running', 'finished']) {
      events = [...events, state(events.length, word)];
      expect(await server.conversations.run(V0_ID)).toBe('already-running');
    }
    expect(posted).toHaveLength(2);
  });

  it('keeps a rejected run waiting for a message, whatever the agent sent before', async () => {
    const said = { ...message(1), source: 'agent', args: { content: 'I will look.' } };
    const rejected = {
      ...state(4, ''),
      observation: 'user_rejected',
      content: 'no',
      extras: {},
      source: 'user',
      cause: 2,
    };
    events = [message(0), said, runAction(2), state(3, 'user_rejected'), rejected, state(5, 'awaiting_user_input')];
    expect(await server.conversations.get(V0_ID)).toMatchObject({ status: 'idle', waiting_for: 'user' });
  });
});
