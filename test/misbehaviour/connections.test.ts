/**
 * Connections that servers drop, limits they set, and servers that go away in the middle (interface
 * 8, 12).
 */
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  agentMessage,
  finish,
  ID,
  recordings,
  SANDBOX_KEY,
  status,
  userMessage,
} from '../client/support/v1-server.ts';
import { startFake, untilTestEnds } from '../support/server.ts';
import { until } from '../support/test-clock.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();

describe('an agent server that drops the connection after a 500', () => {
  const INTERNAL = {
    status: 500,
    json: { detail: 'Internal Server Error', exception: 'ValueError', error_id: 'x' },
  };

  it('is read on a new connection, and what changes something is sent once', async () => {
    const state = {
      id: ID,
      execution_status: 'finished',
      workspace: { working_dir: '/workspace/project' },
    };
    let failures = 1;
    const spent = new Set<Socket>();
    const agent = await untilTestEnds(
      startFake(({ method, path, socket }) => {
        if (spent.has(socket)) return { cut: true };
        if (method === 'POST') return { json: { success: true } };
        if (!path.endsWith('/events/search')) return { json: state };
        if (failures-- <= 0)
          return { json: { items: [userMessage('do it'), finish('done')], next_page_id: null } };
        spent.add(socket);
        return INTERNAL;
      }),
    );
    at.v1.addConversation({
      execution_status: 'finished',
      conversation_url: `${agent.url}/api/conversations/${ID}`,
      session_api_key: SANDBOX_KEY,
    });
    // Over 1.6.0, messages go to the agent server.
    const older = recordings('1.6.0');
    at.script({ '/openapi.json': older.reply('probe.openapi') });
    at.script({ '/api/v1/web-client/config': older.reply('probe.web-client') });
    await at.ends(`conv send ${ID} hello`, {});
    expect(agent.lines().filter((line) => line.startsWith('POST'))).toEqual([
      `POST /api/conversations/${ID}/events`,
    ]);
  });
});

describe('a server that is restarted during conv follow', () => {
  it('loses no event and repeats none', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('do it'), agentMessage('before'));
    let isAway = false;
    at.v1.before = () => (isAway ? { cut: true } : null);
    at.server.acceptSocket = () => !isAway;
    let shown = '';
    let said = '';
    const following = at.invoke({
      args: ['conv', 'follow', ID, '--json'],
      onOut: (text) => (shown += text),
      onErr: (text) => (said += text),
    });
    await until(() => at.server.sockets.length === 1 && shown.includes('before'));
    isAway = true;
    for (const socket of at.server.sockets) socket.terminate();
    at.v1.agentEvents.push(agentMessage('meanwhile'));
    await until(() => said.includes('connection lost'));
    isAway = false;
    await until(() => at.server.sockets.length === 2);
    at.v1.agentEvents.push(finish('after'), status('finished'));
    at.v1.conversations.get(ID)!['execution_status'] = 'finished';
    for (const event of at.v1.agentEvents.slice(-2))
      at.server.sockets[1]?.send(JSON.stringify(event));
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
    expect(err.match(/connection lost/g)).toHaveLength(1);
  });

  it('exits 10 when it does not answer again', async () => {
    at.v1.addConversation();
    at.v1.agentEvents.push(userMessage('do it'));
    let isAway = false;
    at.v1.before = () => (isAway ? { cut: true } : null);
    at.server.acceptSocket = () => !isAway;
    let shown = '';
    const following = at.invoke({ args: ['conv', 'follow', ID], onOut: (text) => (shown += text) });
    await until(() => at.server.sockets.length === 1 && shown.includes('do it'));
    isAway = true;
    for (const socket of at.server.sockets) socket.terminate();
    expect(await following).toMatchObject({ code: 10 });
  });
});
