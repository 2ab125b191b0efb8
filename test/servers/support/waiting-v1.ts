/** A run of a V1 server that waits for a confirmation, and what is posted to it; made anew for each test. */
import { beforeEach, expect } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { ConfirmationAnswer, Server } from '../../../src/servers/server.ts';
import { connectTo, quickClock } from './connect.ts';
import { connectedV1, type ConnectedV1 } from './connected-v1.ts';
import { failure } from './failure.ts';
import type { Asked, Reply } from './fake-server.ts';
import { event } from './v1-world.ts';

export const accept: ConfirmationAnswer = { decision: 'accept', reason: null, action_id: null };

/** As a server answers that still has a run. */
export const refused: Reply = {
  status: 409,
  json: { detail: 'Conversation already running. Wait for completion or pause first.' },
};

export interface WaitingV1 extends ConnectedV1 {
  posted: Asked[];
  /** Answers what is posted. */
  reply: (asked: Asked) => Reply;
  /** A reply after which the run continues. */
  taken(): Reply;
  /** The message when a signal ends the first wait after the request. */
  noticesWhenEnded(work: (stopped: Server) => Promise<unknown>): Promise<string[]>;
}

/** Call it at the top of a test file, which it gives its hooks. */
export function waitingV1(): WaitingV1 {
  const fresh = (): Pick<WaitingV1, 'posted' | 'reply'> => ({
    posted: [],
    reply: () => ({ json: { success: true } }),
  });
  const v1: WaitingV1 = Object.assign(connectedV1(), fresh(), {
    taken(): Reply {
      v1.world.agentState['execution_status'] = 'running';
      return { json: { success: true } };
    },
    async noticesWhenEnded(work: (stopped: Server) => Promise<unknown>) {
      const stop = new AbortController();
      const clock = quickClock();
      clock.onSleep = () => {
        if (v1.posted.length > 0) stop.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      };
      const notices: string[] = [];
      const options = {
        signal: stop.signal,
        clock,
        notice: (text: string) => notices.push(text),
      };
      const stopped = await connectTo(v1.world.fake.url, options);
      expect((await failure(work(stopped))).kind).toBe('interrupted');
      await stopped.close();
      return notices;
    },
  });
  beforeEach(() => {
    Object.assign(v1, fresh());
    v1.world.before = (asked) => {
      if (asked.method !== 'POST') return null;
      v1.posted.push(asked);
      return v1.reply(asked);
    };
    v1.world.addConversation({ execution_status: 'waiting_for_confirmation' });
    v1.world.agentState['execution_status'] = 'waiting_for_confirmation';
  });
  return v1;
}

/** As agent server 1.34.0 sends it. */
export function terminalAction(command: string, callId: string): Record<string, unknown> {
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

export function observed(action: Record<string, unknown>): Record<string, unknown> {
  return event('ObservationEvent', {
    source: 'environment',
    tool_name: 'terminal',
    tool_call_id: action['tool_call_id'],
    action_id: action['id'],
    observation: { kind: 'TerminalObservation', content: [] },
  });
}
