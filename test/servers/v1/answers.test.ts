/** Confirmations, runs, messages and waking over V1, in the shapes of genuine servers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationAnswer, Server } from '../../../src/servers/server.ts';
import { AppError } from '../../../src/errors.ts';
import { connectTo, quickClock } from '../support/connect.ts';
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
  /** What is said when a signal ends the first wait behind what was sent. */
  const noticesWhenEnded = async (work: (stopped: Server) => Promise<unknown>): Promise<string[]> => {
    const stop = new AbortController();
    const clock = quickClock();
    const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
      if (posted.length > 0) stop.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return clock.sleep(ms, signal);
    };
    const notices: string[] = [];
    const options = {
      signal: stop.signal,
      clock: { now: clock.now, sleep },
      notice: (text: string) => notices.push(text),
    };
    const stopped = await connectTo(world.fake.url, options);
    expect((await failure(work(stopped))).kind).toBe('interrupted');
    await stopped.close();
    return notices;
  };

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

  it('accepts a pending action again: a server that still reports the run before accepts it without effect', async () => {
    const next = terminalAction('two', 'call_2');
    world.agentEvents = [terminalAction('one', 'call_1')];
    reply = () => (posted.length < 3 ? { json: { success: true } } : taken());
    await server.conversations.answer(ID, accept);
    expect(posted.map(({ body }) => body)).toEqual([{ accept: true }, { accept: true }, { accept: true }]);
    // Carried out by then, and the next one asked for: that is another matter.
    world.agentState['execution_status'] = 'waiting_for_confirmation';
    reply = () => {
      world.agentEvents.push(observed(world.agentEvents[0] ?? {}), next);
      return { json: { success: true } };
    };
    await server.conversations.answer(ID, accept);
    expect(posted).toHaveLength(4);
  });

  it('accepts no other action, although the accepted one has no observation', async () => {
    world.agentEvents = [terminalAction('one', 'call_1')];
    reply = () => {
      world.agentEvents.push(terminalAction('two', 'call_2'));
      return { json: { success: true } };
    };
    await server.conversations.answer(ID, accept);
    expect(posted).toHaveLength(1);
  });

  it('reports that an acceptance has been sent when a signal ends the wait for its effect', async () => {
    world.agentEvents = [terminalAction('one', 'call_1')];
    const notices = await noticesWhenEnded((stopped) => stopped.conversations.answer(ID, accept));
    expect(notices).toEqual([expect.stringContaining('the acceptance has been sent')]);
    expect(posted).toHaveLength(1);
  });

  it('reports an acceptance that never takes effect', async () => {
    world.agentEvents = [terminalAction('one', 'call_1')];
    const error = await failure(server.conversations.answer(ID, accept));
    expect(error.message).toContain('still waits');
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

  it('repeats a refused run only while the server still reports the end of the run before', async () => {
    world.agentState['execution_status'] = 'paused';
    world.agentEvents = [status('paused')];
    reply = () => (posted.length < 3 ? refused : { json: { success: true } });
    const { handler } = world.fake;
    let looks = 0;
    world.fake.handler = (asked) => {
      if (posted.length === 3 && asked.path.endsWith('/events/search') && ++looks === 3)
        world.agentEvents.push(status('running'));
      return handler(asked);
    };
    expect(await server.conversations.run(ID)).toBe('started');
    // Running by then: a wait for it does not see the status before.
    expect([posted.length, looks]).toEqual([3, 3]);
    reply = () => refused;
    const error = await failure(server.conversations.run(ID));
    expect([error.kind, error.message]).toEqual(['conflict', expect.stringContaining('already running')]);
    expect(error.details).toMatchObject({
      status: 409,
      request: { method: 'POST', url: expect.stringMatching(/\/run$/) as string },
    });
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

  describe('a message', () => {
    const paths = (): string[] => posted.map(({ path }) => path.split('/').at(-1) ?? '');
    const send = (): Promise<void> => server.conversations.send(ID, { text: 'go on', image_urls: [] });
    const arrives = (word: string) => (): Reply => {
      if (posted.length === 1) world.agentEvents.push(userMessage('go on'));
      if (posted.length === 1) world.agentState['execution_status'] = word;
      return posted.length < 3 && posted.length > 1 ? refused : { json: { success: true } };
    };

    it.each(['error', 'paused', 'running'])(
      'that a run in the status %s has not processed starts a run',
      async (word) => {
        world.agentEvents = [status(word)];
        world.agentState['execution_status'] = word;
        reply = arrives(word === 'running' ? 'idle' : word);
        await send();
        expect(posted[0]?.body).toMatchObject({ run: word !== 'running' });
        expect(paths()).toEqual(['send-message', 'run', 'run']);
      },
    );

    it('that was processed starts no run, whatever the status is by then', async () => {
      world.agentState['execution_status'] = 'error';
      reply = () => {
        world.agentEvents.push(
          userMessage('go on'),
          status('running'),
          event('ConversationErrorEvent'),
          status('error'),
        );
        return { json: { success: true } };
      };
      await send();
      expect(paths()).toEqual(['send-message']);
    });

    it('is reported as arrived when a signal ends the wait for its run', async () => {
      world.agentEvents = [status('error')];
      world.agentState['execution_status'] = 'error';
      reply = arrives('error');
      const notices = await noticesWhenEnded((stopped) =>
        stopped.conversations.send(ID, { text: 'go on', image_urls: [] }),
      );
      expect(notices).toEqual([expect.stringContaining('the message has arrived')]);
    });

    it('succeeds when its run cannot be read, or waits for a confirmation again', async () => {
      world.agentState['execution_status'] = 'error';
      reply = () => {
        world.agentState['execution_status'] = 'waiting_for_confirmation';
        return { json: { success: true } };
      };
      await send();
      world.agentState['execution_status'] = 'error';
      reply = arrives('error');
      posted = [];
      const readable = world.before;
      world.before = (asked) => {
        const isGone = posted.length > 0 && asked.path.startsWith('/agent/');
        return isGone ? { status: 500, type: 'text/plain', text: 'Internal Server Error' } : readable(asked);
      };
      await send();
      expect(paths()).toEqual(['send-message']);
    });
  });
});
