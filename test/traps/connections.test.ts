/** Connections that servers drop, limits they set, and servers that go away in the middle (interface 8, 12). */
import { createServer, type Server as HttpServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Asked, Reply } from '../servers/support/fake-server.ts';
import { agentMessage, finish, ID, SANDBOX_KEY, status, userMessage } from '../servers/support/v1-world.ts';
import { until } from '../support/until.ts';
import { v1Trap, type V1Trap } from './support/trap.ts';

let trap: V1Trap;

afterEach(() => trap.close());

describe('an agent server that drops the connection after a 500', () => {
  /** Every answer after a 500 on the same connection is a reset. */
  interface Dropping {
    url: string;
    asked: string[];
    close(): Promise<void>;
  }
  async function startDropping(
    answer: (method: string, path: string) => { status: number; body: unknown },
  ): Promise<Dropping> {
    const spent = new WeakSet<Socket>();
    const asked: string[] = [];
    const server: HttpServer = createServer((request, response: ServerResponse) => {
      const path = new URL(request.url ?? '/', 'http://agent').pathname;
      request.resume().on('end', () => {
        if (spent.has(request.socket)) return request.socket.resetAndDestroy();
        asked.push(`${request.method} ${path}`);
        const { status: code, body } = answer(request.method ?? '', path);
        if (code === 500) spent.add(request.socket);
        response.writeHead(code, { 'content-type': 'application/json', connection: 'keep-alive' });
        response.end(JSON.stringify(body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      asked,
      close: () =>
        new Promise((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    };
  }
  const INTERNAL = { status: 500, body: { detail: 'Internal Server Error', exception: 'ValueError', error_id: 'x' } };

  it('is read on a new connection, and what changes something is sent once', async () => {
    trap = await v1Trap('1.6.0');
    const state = { id: ID, execution_status: 'finished', workspace: { working_dir: '/workspace/project' } };
    let failures = 1;
    const agent = await startDropping((method, path) => {
      if (method === 'POST') return { status: 200, body: { success: true } };
      if (path.endsWith('/events/search')) {
        if (failures-- > 0) return INTERNAL;
        return { status: 200, body: { items: [userMessage('do it'), finish('done')], next_page_id: null } };
      }
      return { status: 200, body: state };
    });
    try {
      trap.addConversation({
        execution_status: 'finished',
        conversation_url: `${agent.url}/api/conversations/${ID}`,
        session_api_key: SANDBOX_KEY,
      });
      const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
      expect(code, err).toBe(0);
      expect(agent.asked.filter((line) => line.startsWith('POST'))).toEqual([`POST /api/conversations/${ID}/events`]);
    } finally {
      await agent.close();
    }
  });
});

describe('a rate limit', () => {
  const limited = (reply: Reply, times: number): void => {
    let left = times;
    const { before } = trap;
    trap.before = (asked) => (asked.path.endsWith('/search') && left-- > 0 ? reply : before(asked));
  };
  const FORMS: [string, Reply][] = [
    [
      'of a self-hosted server',
      { status: 429, json: { message: 'Too many requests' }, headers: { 'retry-after': '1' } },
    ],
    [
      'of the cloud',
      {
        status: 429,
        json: { error: 'Rate limit exceeded: 10 per 1 second' },
        headers: {
          'retry-after': '1',
          'x-ratelimit-limit': '10',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '1',
        },
      },
    ],
  ];

  it.each(FORMS)('%s delays the request', async (_, reply) => {
    trap = await v1Trap();
    trap.addConversation();
    limited(reply, 2);
    const { code, out, err } = await trap.acs('conv', 'list', '-q');
    expect(code, err).toBe(0);
    expect(out).toBe(`${ID}\n`);
  });

  it.each(FORMS)('%s that stays is exit 7 with its words, after four tries', async (_, reply) => {
    trap = await v1Trap();
    limited(reply, 100);
    const { code, out, err } = await trap.acs('conv', 'list', '--json');
    expect({ code, out }).toEqual({ code: 7, out: '' });
    expect(err).toMatch(/Too many requests|Rate limit exceeded/);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'rate-limited', retryable: true, status: 429 } });
    expect(trap.fake.lines().filter((line) => line.endsWith('/search'))).toHaveLength(4);
  });

  it.each(FORMS)('%s does not make a message go out twice: a refused one was not taken', async (_, reply) => {
    trap = await v1Trap();
    trap.addConversation({ execution_status: 'finished' });
    trap.agentState['execution_status'] = 'finished';
    const sent: Asked[] = [];
    let taken = 0;
    trap.before = (asked) => {
      if (asked.method !== 'POST') return null;
      sent.push(asked);
      if (sent.length <= 2) return reply;
      taken += 1;
      return { json: { success: true, sandbox_status: 'RUNNING', message: null } };
    };
    const { code, err } = await trap.acs('conv', 'send', ID, 'hello');
    expect(code, err).toBe(0);
    expect(taken).toBe(1);
  });

  it('of a day is not waited for: exit 7 at once, with what it says', async () => {
    trap = await v1Trap();
    const detail = {
      code: 'daily_conversation_limit_reached',
      message: 'You have used all conversations of today',
      limit: 10,
      used: 10,
      reset_at: '2026-11-22T00:00:00Z',
    };
    let sent = 0;
    trap.before = ({ method }) => {
      if (method !== 'POST') return null;
      sent += 1;
      return { status: 429, json: { detail } };
    };
    const { code, err } = await trap.acs('conv', 'new', 'hello', '--no-repo');
    expect({ code, sent }).toEqual({ code: 7, sent: 1 });
    expect(err).toContain('You have used all conversations of today');
  });
});

describe('a server that is restarted during conv follow', () => {
  it('loses no event and repeats none', async () => {
    trap = await v1Trap();
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), agentMessage('before'));
    let isAway = false;
    trap.before = () => (isAway ? { cut: true } : null);
    trap.fake.acceptSocket = () => !isAway;
    let shown = '';
    let said = '';
    const following = trap.invoke({
      args: ['conv', 'follow', ID, '--json'],
      onOut: (text) => (shown += text),
      onErr: (text) => (said += text),
    });
    await until(() => trap.fake.sockets.length === 1 && shown.includes('before'));
    isAway = true;
    for (const socket of trap.fake.sockets) socket.terminate();
    trap.agentEvents.push(agentMessage('meanwhile'));
    await until(() => said.includes('the connection is cut'));
    isAway = false;
    await until(() => trap.fake.sockets.length === 2);
    trap.agentEvents.push(finish('after'), status('finished'));
    trap.conversations.get(ID)!['execution_status'] = 'finished';
    for (const event of trap.agentEvents.slice(-2)) trap.fake.sockets[1]?.send(JSON.stringify(event));
    const { code, out, err } = await following;
    expect(code, err).toBe(0);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { text?: string; type: string });
    expect(lines.map(({ text, type }) => text ?? type)).toEqual([
      'do it',
      'before',
      'meanwhile',
      'after',
      'execution_status: finished',
      'outcome',
    ]);
    expect(err.match(/the connection is cut/g)).toHaveLength(1);
  });

  it('exits 10 when it does not answer again', async () => {
    trap = await v1Trap('1.11.0', 300);
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'));
    let isAway = false;
    trap.before = () => (isAway ? { cut: true } : null);
    trap.fake.acceptSocket = () => !isAway;
    let shown = '';
    const following = trap.invoke({ args: ['conv', 'follow', ID], onOut: (text) => (shown += text) });
    await until(() => trap.fake.sockets.length === 1 && shown.includes('do it'));
    isAway = true;
    for (const socket of trap.fake.sockets) socket.terminate();
    expect(await following).toMatchObject({ code: 10 });
  });
});

describe('a run without events', () => {
  it('conv wait prints a notice after ten minutes without an event, with the last one', async () => {
    trap = await v1Trap('1.11.0', 300);
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), agentMessage('I begin'), status('running'));
    const { code, err } = await trap.acs('conv', 'follow', ID, '--wait-timeout', '11m');
    expect(code).toBe(124);
    expect(err).toMatch(new RegExp(`no event of ${ID} for 10m; the last was: `));
  });

  it('--no-events-timeout exits 124 with the code no-events', async () => {
    trap = await v1Trap('1.11.0', 300);
    trap.addConversation();
    trap.agentEvents.push(userMessage('do it'), status('running'));
    for (const verb of ['follow', 'wait']) {
      const { code, out } = await trap.acs('conv', verb, ID, '--fail-on-stall', '2m', '--json');
      expect(code).toBe(124);
      expect(out).toMatch(/"code": ?"no-events"/);
    }
  });
});
