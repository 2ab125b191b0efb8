/**
 * A V1 run that a test sets: its status and events, what is posted to the server, and what the
 * server answers.
 */
import { beforeEach } from 'vitest';
import type { Asked, Reply } from '../../support/server.ts';
import { useV1, type V1Suite } from '../../support/use-v1.ts';

export interface ScriptedRun {
  at: V1Suite;
  posted: Asked[];
  /** Answers what is posted. */
  reply: (asked: Asked) => Reply;
  /** The run has this status in its record and in its sandbox, and these events. */
  stands(word: string, ...events: Record<string, unknown>[]): void;
  /** A reply after which the run goes on. */
  took(): Reply;
  /** As a server answers that still has a run. */
  refused: Reply;
}

export function useScriptedRun(options: Parameters<typeof useV1>[0] = {}): ScriptedRun {
  const at = useV1({ noun: 'conv', ...options });
  const run: ScriptedRun = {
    at,
    posted: [],
    reply: () => ({ json: { success: true } }),
    stands(word, ...events) {
      at.v1.addConversation({ execution_status: word });
      at.v1.agentState['execution_status'] = word;
      at.v1.agentEvents = events;
    },
    took() {
      at.v1.agentState['execution_status'] = 'running';
      return { json: { success: true } };
    },
    refused: {
      status: 409,
      json: { detail: 'Conversation already running. Wait for completion or pause first.' },
    },
  };
  beforeEach(() => {
    run.posted = [];
    run.reply = () => ({ json: { success: true } });
    at.v1.before = (asked) => {
      if (asked.method !== 'POST') return null;
      run.posted.push(asked);
      return run.reply(asked);
    };
  });
  return run;
}
