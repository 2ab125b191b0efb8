import type { WebSocket } from 'ws';
import { beforeEach, describe, expect, it } from 'vitest';
import { connectedV1 } from '../support/connected-v1.ts';
import { failure } from '../support/failure.ts';
import { following } from '../support/follower.ts';
import { event, finish, ID, status, userMessage } from '../support/v1-world.ts';

const v1 = connectedV1();
beforeEach(() => void v1.world.addConversation());

/** The sandbox stores the events and sends them over its sockets. */
function happens(...events: Record<string, unknown>[]): void {
  for (const one of events) {
    v1.world.agentEvents.push(one);
    const word = one['key'] === 'execution_status' ? one['value'] : null;
    if (word !== null) v1.world.conversations.get(ID)!['execution_status'] = word;
    for (const socket of v1.world.fake.sockets) socket.send(JSON.stringify(one));
  }
}

const onlyEvents = (lines: string[]): string[] =>
  lines.filter((one) => !/^[=!]/.test(one) && !one.startsWith('ConversationState'));

describe('following', () => {
  it('delivers stored events, then new ones, each once and in order, and the end after its events', async () => {
    v1.world.agentEvents.push(userMessage('hello'), status('running'));
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    happens(event('StreamingDeltaEvent', { content: 'x' }), finish('bye'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(follower.lines()).toEqual([
      'MessageEvent: hello',
      'ConversationStateUpdateEvent: execution_status: running',
      '=running',
      'ActionEvent: bye',
      'ConversationStateUpdateEvent: execution_status: finished',
      '=finished',
    ]);
    await follower.stop();
  });

  it('loses and repeats no event when the socket is cut again and again', async () => {
    const follower = following(v1.server);
    await follower.until(() => v1.world.fake.sockets.length === 1);
    const expected: string[] = [];
    for (let round = 1; round <= 5; round++) {
      const sockets = v1.world.fake.sockets.length;
      happens(finish(`before cut ${round}`));
      for (const socket of v1.world.fake.sockets) socket.terminate();
      happens(finish(`during cut ${round}`));
      expected.push(`ActionEvent: before cut ${round}`, `ActionEvent: during cut ${round}`);
      await follower.until(
        (lines) => onlyEvents(lines).length === expected.length && v1.world.fake.sockets.length > sockets,
      );
    }
    happens(status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual(expected);
    await follower.stop();
  });

  it('misses no event between the opening of the socket and the read', async () => {
    let raced = false;
    v1.world.fake.onSocket = (socket: WebSocket) => {
      if (raced) return;
      raced = true;
      const early = finish('while connecting');
      v1.world.agentEvents.push(early);
      socket.send(JSON.stringify(early));
    };
    const follower = following(v1.server);
    await follower.until((lines) => raced && lines.includes('=running'));
    happens(finish('after'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: while connecting', 'ActionEvent: after']);
    await follower.stop();
  });

  it('continues with reads when the sandbox is paused, and opens a socket again when it is resumed', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    const record = v1.world.conversations.get(ID)!;
    const { conversation_url, session_api_key } = record;
    Object.assign(record, {
      sandbox_status: 'PAUSED',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    v1.world.appEvents.push(...v1.world.agentEvents, finish('stored before the pause'));
    for (const socket of v1.world.fake.sockets) socket.terminate();
    await follower.until((lines) => lines.includes('=paused'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: stored before the pause']);
    Object.assign(record, {
      sandbox_status: 'RUNNING',
      execution_status: 'running',
      conversation_url,
      session_api_key,
    });
    v1.world.agentEvents.push(...v1.world.appEvents);
    await follower.until((lines) => lines.at(-1) === '=running');
    happens(finish('after the pause'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual([
      'ActionEvent: stored before the pause',
      'ActionEvent: after the pause',
    ]);
    await follower.stop();
  });

  it('ignores a status that is null for a moment', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    const record = v1.world.conversations.get(ID)!;
    let looks = 0;
    v1.world.before = ({ path, method }) => {
      if (`${method} ${path}` !== 'GET /api/v1/app-conversations') return null;
      looks += 1;
      return { json: [{ ...record, execution_status: looks < 4 ? null : 'finished' }] };
    };
    await follower.until((lines) => lines.includes('=finished'));
    expect(follower.lines().filter((one) => one.startsWith('='))).toEqual(['=running', '=finished']);
    await follower.stop();
  });

  it('delivers a failure with its reason', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    happens(event('ConversationErrorEvent', { code: 'MaxIterationsReached', detail: 'limit (3)' }), status('error'));
    await follower.until((lines) => lines.some((one) => one.startsWith('=failed')));
    expect(follower.lines().at(-1)).toBe('=failed (MaxIterationsReached)');
    await follower.stop();
  });

  it('waits for a reason that the app server learns later than the status', async () => {
    Object.assign(v1.world.conversations.get(ID)!, {
      sandbox_status: 'MISSING',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    v1.world.appEvents.push(status('error'));
    let looks = 0;
    v1.world.before = ({ query }) => {
      if (query.get('kind__eq') !== 'ConversationErrorEvent') return null;
      looks += 1;
      return {
        json: {
          items: looks < 4 ? [] : [event('ConversationErrorEvent', { code: 'Late', detail: 'at last' })],
          next_page_id: null,
        },
      };
    };
    const follower = following(v1.server);
    await follower.until((lines) => lines.some((one) => one.startsWith('=failed')));
    expect(follower.lines().at(-1)).toBe('=failed (Late)');
    await follower.stop();
  });

  it('ends by itself when the conversation is archived', async () => {
    Object.assign(v1.world.conversations.get(ID)!, {
      sandbox_status: 'MISSING',
      execution_status: null,
      conversation_url: null,
      session_api_key: null,
    });
    v1.world.appEvents.push(userMessage('hello'), status('running'));
    const follower = following(v1.server);
    await follower.ended;
    expect(follower.lines().at(-1)).toBe('=archived');
  });

  it('ends with not-found when the conversation is deleted, and with auth when the key is refused', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    v1.world.conversations.delete(ID);
    for (const socket of v1.world.fake.sockets) socket.terminate();
    expect((await failure(follower.ended)).kind).toBe('not-found');
    v1.world.addConversation();
    const other = following(v1.server);
    await other.until((lines) => lines.includes('=running'));
    v1.world.before = ({ path }) =>
      path.startsWith('/agent') ? null : { status: 401, json: { detail: 'Unauthorized' } };
    for (const socket of v1.world.fake.sockets) socket.terminate();
    expect((await failure(other.ended)).kind).toBe('auth');
  });

  it('continues through a restart of the app server with at most one notice', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    let refused = 0;
    v1.world.before = () => (++refused < 60 ? { cut: true } : null);
    for (const socket of v1.world.fake.sockets) socket.terminate();
    await follower.until(() => refused >= 60);
    v1.world.before = () => null;
    happens(finish('after the restart'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(follower.lines().filter((one) => one.startsWith('!')).length).toBeLessThanOrEqual(1);
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: after the restart']);
    await follower.stop();
  });

  it('starts after a given event, and reports an unknown one', async () => {
    const first = userMessage('one');
    v1.world.agentEvents.push(first, finish('two'));
    const follower = following(v1.server, { afterEventId: String(first['id']) });
    await follower.until((lines) => lines.includes('=running'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: two']);
    await follower.stop();
    expect((await failure(following(v1.server, { afterEventId: 'nope' }).ended)).kind).toBe('not-found');
  });

  it('starts at a time, inclusive', async () => {
    const second = finish('two');
    v1.world.agentEvents.push(userMessage('zero'), second);
    const later = finish('three');
    v1.world.agentEvents.push(later);
    const follower = following(v1.server, { since: `${String(later['timestamp'])}Z` });
    await follower.until((lines) => lines.includes('=running'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: three']);
    await follower.stop();
  });

  it('reads when there is no socket', async () => {
    v1.world.fake.acceptSocket = () => false;
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    happens(finish('one'));
    await follower.until((lines) => onlyEvents(lines).length === 1);
    happens(finish('two'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: one', 'ActionEvent: two']);
    await follower.stop();
  });
});

describe('following a run that is short', () => {
  it('delivers its end although the status before it was the same', async () => {
    v1.world.conversations.get(ID)!['execution_status'] = 'finished';
    v1.world.agentEvents.push(userMessage('one'), finish('first'), status('finished'), userMessage('two'));
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=finished'));
    happens(status('running'), finish('second'), status('finished'));
    await follower.until((lines) => lines.filter((one) => one === '=finished').length >= 2);
    expect(follower.lines().indexOf('ActionEvent: second')).toBeLessThan(follower.lines().lastIndexOf('=finished'));
    await follower.stop();
  });
});
