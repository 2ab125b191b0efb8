import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationAnswer, Server } from '../../../src/servers/server.ts';
import { connectTo } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { createV1World, event, ID, SANDBOX_KEY, status, userMessage, type V1World } from '../support/v1-world.ts';

const accept: ConfirmationAnswer = { decision: 'accept', reason: null, action_id: null };

const AGENT = `/agent/api/conversations/${ID}`;

/** As agent server 1.34.0 sends it. */
function terminalAction(command: string, callId: string): Record<string, unknown> {
  return event('ActionEvent', {
    thought: [{ cache_prompt: false, type: 'text', text: 'Step 1.' }],
    thinking_blocks: [],
    action: { command, is_input: false, reset: false, kind: 'TerminalAction' },
    tool_name: 'terminal',
    tool_call_id: callId,
    tool_call: { id: callId, name: 'terminal', arguments: JSON.stringify({ command }), origin: 'completion' },
    llm_response_id: 'chat-36',
    security_risk: 'HIGH',
    summary: `terminal: ${command}`,
  });
}

function observed(action: Record<string, unknown>): Record<string, unknown> {
  return event('ObservationEvent', {
    source: 'environment',
    tool_name: 'terminal',
    tool_call_id: action['tool_call_id'],
    action_id: action['id'],
    observation: { kind: 'TerminalObservation', content: [] },
  });
}

describe('over V1', () => {
  let world: V1World;
  let server: Server;
  let posted: Asked[];
  let reply: (asked: Asked) => Reply;
  const taken = (): Reply => {
    world.agentState['execution_status'] = 'running';
    return { json: { success: true } };
  };
  const refused: Reply = {
    status: 409,
    json: { detail: 'Conversation already running. Wait for completion or pause first.' },
  };

  beforeEach(async () => {
    world = await createV1World();
    server = await connectTo(world.fake.url);
    posted = [];
    reply = () => ({ json: { success: true } });
    world.before = (asked) => {
      if (asked.method !== 'POST') return null;
      posted.push(asked);
      return reply(asked);
    };
    world.addConversation({ execution_status: 'waiting_for_confirmation' });
    world.agentState['execution_status'] = 'waiting_for_confirmation';
  });
  afterEach(async () => {
    await server.close();
    await world.close();
  });

  it('finds the pending action, complete, and no executed one', async () => {
    const done = terminalAction('ls -la', 'call_1');
    const waits = terminalAction('rm -rf ./here\nrm -rf ./there', 'call_2');
    world.agentEvents = [userMessage('go'), done, observed(done), waits, status('waiting_for_confirmation')];
    expect(await server.conversations.pending(ID)).toEqual([
      { action_id: waits['id'], kind: 'TerminalAction', text: '$ rm -rf ./here\nrm -rf ./there', risk: 'high' },
    ]);
  });

  it('finds every action of a step with several tool calls, and each of them identifies the step', async () => {
    const [one, two] = [terminalAction('one', 'call_1'), terminalAction('two', 'call_2')];
    world.agentEvents = [userMessage('go'), one, two, status('waiting_for_confirmation')];
    expect((await server.conversations.pending(ID)).map(({ text }) => text)).toEqual(['$ one', '$ two']);
    reply = taken;
    await server.conversations.answer(ID, { ...accept, action_id: String(two['id']) });
    expect(posted).toHaveLength(1);
  });

  it('shows all arguments of a file edit and of an unknown tool', async () => {
    const edit = event('ActionEvent', {
      action: { kind: 'FileEditorAction', command: 'create', path: '/w/a.txt', file_text: 'x\ny', view_range: null },
      tool_name: 'file_editor',
      tool_call_id: 'call_1',
    });
    const other = event('ActionEvent', {
      action: { kind: 'MCPToolAction', data: { amount: 3 } },
      tool_name: 'pay',
      tool_call_id: 'call_2',
    });
    world.agentEvents = [userMessage('go'), edit, other];
    expect((await server.conversations.pending(ID)).map(({ text, risk }) => [text, risk])).toEqual([
      ['create /w/a.txt\nfile_text: x\ny', 'unknown'],
      ['pay\ndata: {"amount":3}', 'unknown'],
    ]);
  });

  it('sends the answer to the sandbox, with its key, once', async () => {
    const waits = terminalAction('ls', 'call_1');
    world.agentEvents = [waits];
    reply = () => {
      world.agentEvents.push(event('UserRejectObservation', { action_id: waits['id'], source: 'user' }));
      return { json: { success: true } };
    };
    await server.conversations.answer(ID, { decision: 'reject', reason: 'not now', action_id: String(waits['id']) });
    expect(posted).toMatchObject([
      {
        path: `${AGENT}/events/respond_to_confirmation`,
        body: { accept: false, reason: 'not now' },
        headers: { 'x-session-api-key': SANDBOX_KEY },
      },
    ]);
    world.agentEvents = [waits];
    reply = () => ({ cut: true });
    expect((await failure(server.conversations.answer(ID, accept))).kind).toBe('unknown-outcome');
    expect(posted).toHaveLength(2);
  });

  it('sends no answer to another action, or when none is pending: the server would apply it to the next one', async () => {
    world.agentEvents = [terminalAction('ls', 'call_1')];
    expect((await failure(server.conversations.answer(ID, { ...accept, action_id: 'seen before' }))).kind).toBe(
      'conflict',
    );
    world.agentState['execution_status'] = 'running';
    expect(await server.conversations.pending(ID)).toEqual([]);
    expect((await failure(server.conversations.answer(ID, accept))).kind).toBe('conflict');
    expect(posted).toEqual([]);
  });

  it('resumes only a stopped run without a pending action', async () => {
    expect((await failure(server.conversations.run(ID))).kind).toBe('needs-input');
    world.agentState['execution_status'] = 'running';
    expect(await server.conversations.run(ID)).toBe('already-running');
    expect(posted).toEqual([]);
    world.agentState['execution_status'] = 'paused';
    expect(await server.conversations.run(ID)).toBe('started');
    expect(posted).toMatchObject([{ path: `${AGENT}/run` }]);
    reply = () => {
      world.agentState['execution_status'] = 'running';
      return refused;
    };
    expect(await server.conversations.run(ID)).toBe('already-running');
  });

  it('resumes a run whose events cannot be read', async () => {
    world.agentState['execution_status'] = 'paused';
    const { handler } = world.fake;
    world.fake.handler = (asked) =>
      asked.path.endsWith('/events/search')
        ? { status: 500, type: 'text/plain', text: 'Internal Server Error' }
        : handler(asked);
    expect(await server.conversations.run(ID)).toBe('started');
    expect(posted).toMatchObject([{ path: `${AGENT}/run` }]);
  });

  it('resumes the sandbox of a conversation, unless it is gone', async () => {
    await server.conversations.startSandbox(ID);
    expect(posted).toMatchObject([{ path: '/api/v1/sandboxes/sb1/resume' }]);
    world.addConversation({ sandbox_status: 'MISSING', execution_status: null });
    expect((await failure(server.conversations.startSandbox(ID))).kind).toBe('conflict');
  });

  it('stores a message without a run when requested', async () => {
    await server.conversations.send(ID, { text: 'later', image_urls: [], effect: 'store' });
    expect(posted[0]?.body).toMatchObject({ role: 'user', run: false });
    world.agentState['execution_status'] = 'finished';
    await server.conversations.send(ID, { text: 'now', image_urls: [] });
    expect(posted[1]?.body).toMatchObject({ role: 'user', run: true });
  });
});
