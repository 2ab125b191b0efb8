import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConfirmationAnswer, Server } from '../../../src/servers/server.ts';
import { AppError } from '../../../src/errors.ts';
import { connectTo, quickClock } from '../support/connect.ts';
import { failure } from '../support/failure.ts';
import type { Asked, Reply } from '../support/fake-server.ts';
import { createV1World, event, ID, type V1World } from '../support/v1-world.ts';

const accept: ConfirmationAnswer = { decision: 'accept', reason: null, action_id: null };

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
});
