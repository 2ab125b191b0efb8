import { beforeEach, describe, expect, it } from 'vitest';
import { connectedV1, failure, following } from '../support/client.ts';
import { event, finish, ID, SANDBOX_KEY, status, userMessage } from '../support/v1-server.ts';

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
const down = {
  sandbox_status: 'PAUSED',
  execution_status: null,
  conversation_url: null,
  session_api_key: null,
};

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
  });

  it('delivers the answer that is being written where parts are wanted, anew after each beginning', async () => {
    v1.world.agentEvents.push(userMessage('hello'), status('running'));
    const delta = (content: string) => event('StreamingDeltaEvent', { content });
    const follower = following(v1.server, { deltas: true });
    await follower.until((lines) => lines.includes('=running'));
    happens(delta(''), delta('one '), delta('two'));
    await follower.until((lines) => lines.includes('~one two'));
    happens(delta(''), delta('again'));
    await follower.until((lines) => lines.includes('~again'));
    happens(finish('again and the end'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines()).filter((line) => !line.startsWith('~'))).toEqual([
      'MessageEvent: hello',
      'ActionEvent: again and the end',
    ]);
  });

  it('misses no event between the opening of the socket and the read', async () => {
    let raced = false;
    v1.world.fake.onSocket = (socket) => {
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
    expect(onlyEvents(follower.lines())).toEqual([
      'ActionEvent: while connecting',
      'ActionEvent: after',
    ]);
  });

  it('reads while the sandbox is paused, and opens a socket again when it is resumed', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    const record = v1.world.conversations.get(ID)!;
    const running = { ...record };
    Object.assign(record, down);
    v1.world.appEvents.push(finish('stored before the pause'));
    for (const socket of v1.world.fake.sockets) socket.terminate();
    await follower.until((lines) => lines.includes('=paused'));
    const sockets = v1.world.fake.sockets.length;
    v1.world.agentEvents.push(...v1.world.appEvents);
    Object.assign(record, running);
    await follower.until(
      (lines) => lines.at(-1) === '=running' && v1.world.fake.sockets.length > sockets,
    );
    happens(finish('after the pause'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual([
      'ActionEvent: stored before the pause',
      'ActionEvent: after the pause',
    ]);
  });

  it('reads events where no socket opens', async () => {
    v1.world.fake.acceptSocket = () => false;
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    happens(finish('one'));
    await follower.until((lines) => onlyEvents(lines).length === 1);
    happens(finish('two'), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
    expect(onlyEvents(follower.lines())).toEqual(['ActionEvent: one', 'ActionEvent: two']);
  });

  it('delivers a failure with its reason', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    happens(
      event('ConversationErrorEvent', { code: 'MaxIterationsReached', detail: 'limit (3)' }),
      status('error'),
    );
    await follower.until((lines) => lines.at(-1) === '=failed (MaxIterationsReached)');
  });

  it('waits for a reason that the app server receives later than the status', async () => {
    v1.world.addConversation({ ...down, sandbox_status: 'MISSING' });
    v1.world.appEvents.push(status('error'));
    let looks = 0;
    v1.on({
      [`GET /api/v1/conversation/${ID}/events/search`]: ({ query }) => {
        if (query.get('kind__eq') === 'ConversationErrorEvent' && ++looks === 4)
          v1.world.appEvents.push(
            event('ConversationErrorEvent', { code: 'Late', detail: 'at last' }),
          );
        return null;
      },
    });
    const follower = following(v1.server);
    await follower.until((lines) => lines.at(-1) === '=failed (Late)');
  });

  it('delivers a status that stays missing, and the status after it', async () => {
    v1.world.addConversation({ execution_status: null });
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=unknown(no-status)'));
    happens(event('ActionEvent', { tool_name: 'x' }), status('finished'));
    await follower.until((lines) => lines.includes('=finished'));
  });

  it('ends when the sandbox has lost the conversation, whose record stays without a status', async () => {
    const follower = following(v1.server);
    await follower.until((lines) => lines.includes('=running'));
    v1.world.addConversation({ execution_status: null });
    v1.world.before = ({ path }) =>
      path.startsWith('/agent/')
        ? { status: 404, json: { detail: 'Conversation not found' } }
        : null;
    expect((await failure(follower.ended)).message).toContain('it was deleted there');
  });
});

describe('the key of the sandbox', () => {
  /** The sockets that were opened, of which `accept` takes some, until so many were. */
  async function opened(
    count: number,
    accept: (path: string, number: number) => boolean,
  ): Promise<string[]> {
    const paths: string[] = [];
    v1.world.fake.acceptSocket = (path, headers) => {
      expect(headers.authorization).toBeUndefined();
      if (!path.includes('session_api_key='))
        expect(headers['x-session-api-key']).toBe(SANDBOX_KEY);
      return accept(path, paths.push(path));
    };
    const follower = following(v1.server);
    await follower.until((lines) => {
      for (const socket of v1.world.fake.sockets)
        if (count > 3 && lines.includes('=running')) socket.terminate();
      return paths.length >= count;
    });
    return paths;
  }
  const header = `/agent/sockets/events/${ID}`;
  const query = `${header}?session_api_key=${SANDBOX_KEY}`;

  it('is sent in the header of the socket', async () => {
    expect(await opened(1, () => true)).toEqual([header]);
  });

  it('is sent in the query after the header was refused twice', async () => {
    expect(await opened(3, (path) => path === query)).toEqual([header, header, query]);
  });

  it('stays in the header once that has worked, however often it fails later', async () => {
    expect(new Set(await opened(6, (_, number) => number === 1))).toEqual(new Set([header]));
  });
});
