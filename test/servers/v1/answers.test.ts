import { describe, expect, it } from 'vitest';
import { failure } from '../support/failure.ts';
import { event, ID, SANDBOX_KEY, status, userMessage } from '../support/v1-world.ts';
import { accept, observed, refused, terminalAction, waitingV1 } from '../support/waiting-v1.ts';

const AGENT = `/agent/api/conversations/${ID}`;

const v1 = waitingV1();

describe('over V1', () => {
  it('finds the pending action, complete, and no executed one', async () => {
    const done = terminalAction('ls -la', 'call_1');
    const waits = terminalAction('rm -rf ./here\nrm -rf ./there', 'call_2');
    v1.world.agentEvents = [userMessage('go'), done, observed(done), waits, status('waiting_for_confirmation')];
    expect(await v1.server.conversations.pending(ID)).toEqual([
      { action_id: waits['id'], kind: 'TerminalAction', text: '$ rm -rf ./here\nrm -rf ./there', risk: 'high' },
    ]);
  });

  it('finds every action of a step with several tool calls, and each of them identifies the step', async () => {
    const [one, two] = [terminalAction('one', 'call_1'), terminalAction('two', 'call_2')];
    v1.world.agentEvents = [userMessage('go'), one, two, status('waiting_for_confirmation')];
    expect((await v1.server.conversations.pending(ID)).map(({ text }) => text)).toEqual(['$ one', '$ two']);
    v1.reply = v1.taken;
    await v1.server.conversations.answer(ID, { ...accept, action_id: String(two['id']) });
    expect(v1.posted).toHaveLength(1);
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
    v1.world.agentEvents = [userMessage('go'), edit, other];
    expect((await v1.server.conversations.pending(ID)).map(({ text, risk }) => [text, risk])).toEqual([
      ['create /w/a.txt\nfile_text: x\ny', 'unknown'],
      ['pay\ndata: {"amount":3}', 'unknown'],
    ]);
  });

  it('sends the answer to the sandbox, with its key, once', async () => {
    const waits = terminalAction('ls', 'call_1');
    v1.world.agentEvents = [waits];
    v1.reply = () => {
      v1.world.agentEvents.push(event('UserRejectObservation', { action_id: waits['id'], source: 'user' }));
      return { json: { success: true } };
    };
    await v1.server.conversations.answer(ID, { decision: 'reject', reason: 'not now', action_id: String(waits['id']) });
    expect(v1.posted).toMatchObject([
      {
        path: `${AGENT}/events/respond_to_confirmation`,
        body: { accept: false, reason: 'not now' },
        headers: { 'x-session-api-key': SANDBOX_KEY },
      },
    ]);
    v1.world.agentEvents = [waits];
    v1.reply = () => ({ cut: true });
    expect((await failure(v1.server.conversations.answer(ID, accept))).kind).toBe('unknown-outcome');
    expect(v1.posted).toHaveLength(2);
  });

  it('sends no answer to another action, or when none is pending: the server would apply it to the next one', async () => {
    v1.world.agentEvents = [terminalAction('ls', 'call_1')];
    expect((await failure(v1.server.conversations.answer(ID, { ...accept, action_id: 'seen before' }))).kind).toBe(
      'conflict',
    );
    v1.world.agentState['execution_status'] = 'running';
    expect(await v1.server.conversations.pending(ID)).toEqual([]);
    expect((await failure(v1.server.conversations.answer(ID, accept))).kind).toBe('conflict');
    expect(v1.posted).toEqual([]);
  });

  it('resumes only a stopped run without a pending action', async () => {
    expect((await failure(v1.server.conversations.run(ID))).kind).toBe('needs-input');
    v1.world.agentState['execution_status'] = 'running';
    expect(await v1.server.conversations.run(ID)).toBe('already-running');
    expect(v1.posted).toEqual([]);
    v1.world.agentState['execution_status'] = 'paused';
    expect(await v1.server.conversations.run(ID)).toBe('started');
    expect(v1.posted).toMatchObject([{ path: `${AGENT}/run` }]);
    v1.reply = () => {
      v1.world.agentState['execution_status'] = 'running';
      return refused;
    };
    expect(await v1.server.conversations.run(ID)).toBe('already-running');
  });

  it('resumes a run whose events cannot be read', async () => {
    v1.world.agentState['execution_status'] = 'paused';
    const { handler } = v1.world.fake;
    v1.world.fake.handler = (asked) =>
      asked.path.endsWith('/events/search')
        ? { status: 500, type: 'text/plain', text: 'Internal Server Error' }
        : handler(asked);
    expect(await v1.server.conversations.run(ID)).toBe('started');
    expect(v1.posted).toMatchObject([{ path: `${AGENT}/run` }]);
  });

  it('resumes the sandbox of a conversation, unless it is gone', async () => {
    await v1.server.conversations.startSandbox(ID);
    expect(v1.posted).toMatchObject([{ path: '/api/v1/sandboxes/sb1/resume' }]);
    v1.world.addConversation({ sandbox_status: 'MISSING', execution_status: null });
    expect((await failure(v1.server.conversations.startSandbox(ID))).kind).toBe('conflict');
  });

  it('stores a message without a run when requested', async () => {
    await v1.server.conversations.send(ID, { text: 'later', image_urls: [], effect: 'store' });
    expect(v1.posted[0]?.body).toMatchObject({ role: 'user', run: false });
    v1.world.agentState['execution_status'] = 'finished';
    await v1.server.conversations.send(ID, { text: 'now', image_urls: [] });
    expect(v1.posted[1]?.body).toMatchObject({ role: 'user', run: true });
  });
});
