import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { noMetrics } from '../../../../src/service/agent-server/events.ts';

/** The state of a conversation whose run is in progress. */
export const RUNNING = {
  conversation_id: 'a'.repeat(32),
  execution_status: 'running',
  title: null,
  created_at: '2026-01-01T00:00:00.000000Z',
  updated_at: '2026-01-01T00:00:00.000000Z',
  working_dir: '/',
  max_iterations: 10,
  confirmation_policy: { kind: 'NeverConfirm' },
  security_analyzer: null,
  model: 'replay',
  metrics: noMetrics('replay'),
  last_user_message_id: null,
  steps_done: 0,
  pending_action_id: null,
  tags: {},
} as const;

/** What `outline` shows after a message to a conversation that has ended, whose next turn runs one command and finishes. */
export const OUTLINE_AFTER_MESSAGE = [
  'idle',
  'MessageEvent',
  'last_user_message_id',
  'running',
  'TerminalAction',
  'TerminalObservation',
  'FinishAction',
  'FinishObservation',
  'finished',
];

/** For the tests of a file: each has a folder of its own, in which this is the log. */
export function logFileOfTest(): { readonly file: string } {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'acs-conversation-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });
  return {
    get file() {
      return path.join(folder, 'a.db');
    },
  };
}
