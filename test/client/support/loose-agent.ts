/** Conversations of the loose server: their events and the states that a message moves them to. */
import { spawnSync } from 'node:child_process';
import { agentMessage, event, finish, status, userMessage } from './v1-server.ts';
import type { Reply } from '../../support/server.ts';
import type { LooseServer, Route, Routes } from './loose-server.ts';

export interface LooseConversation {
  id: string;
  title: string;
  model: string;
  branch: string | null;
  repository: string | null;
  sandboxId: string;
  state: string;
  policy: string;
  created_at: string;
  events: Record<string, unknown>[];
}

let made = 0;
export const freshId = (): string =>
  `5eed0000${String(++made).padStart(4, '0')}4a4b8883a7dd7563356d`;

/** The text of a message in the body of a start or of a send. */
export function textIn(message: unknown): string {
  const content = (message as { content?: { text?: string }[] } | null | undefined)?.content ?? [];
  return content.map(({ text = '' }) => text).join(' ');
}

export function takeMessage(conversation: LooseConversation, text: string): void {
  const { events } = conversation;
  events.push(userMessage(text));
  if (text.includes('CONFIRM')) {
    const action = { kind: 'TerminalAction', command: 'touch done' };
    events.push(event('ActionEvent', { tool_name: 'terminal', tool_call_id: freshId(), action }));
    setState(conversation, 'waiting_for_confirmation');
  } else if (text.includes('WORK')) {
    events.push(agentMessage('at work'));
    setState(conversation, 'running');
  } else {
    events.push(finish('done'));
    setState(conversation, 'finished');
  }
}

export function setState(conversation: LooseConversation, word: string): void {
  conversation.state = word;
  conversation.events.push(status(word));
}

export function ordered(
  events: Record<string, unknown>[],
  query: URLSearchParams,
): Record<string, unknown>[] {
  const kind = query.get('kind__eq') ?? query.get('kind');
  const since = query.get('timestamp__gte');
  const found = events.filter(
    (one) =>
      (kind === null || one['kind'] === kind) &&
      (since === null || String(one['timestamp']) >= since),
  );
  return query.get('sort_order') === 'TIMESTAMP_DESC' ? found.toReversed() : found;
}

// The agent server of the loose server: one for all its sandboxes, at `/agent`.

const TAKEN: Reply = { json: { success: true } };

export function looseAgentRoutes(server: LooseServer): Routes {
  const of =
    (act: (conversation: LooseConversation, asked: Parameters<Route>[0]) => Reply): Route =>
    (asked, id) => {
      const conversation = server.conversations.get(id);
      return conversation === undefined
        ? { status: 404, json: { detail: 'Conversation not found' } }
        : act(conversation, asked);
    };
  const stop = of((conversation) => {
    if (!server.ignores('stop') && conversation.state === 'running')
      setState(conversation, 'paused');
    return TAKEN;
  });
  let output: Record<string, unknown> = {};
  return {
    'GET /agent/api/conversations/:id': of((conversation) => ({
      json: {
        id: conversation.id,
        execution_status: conversation.state,
        workspace: { working_dir: server.options.workspace ?? '/workspace/project' },
        agent: { llm: { model: conversation.model } },
        confirmation_policy: { kind: conversation.policy },
        created_at: conversation.created_at,
      },
    })),
    'PATCH /agent/api/conversations/:id': of(() => TAKEN),
    'GET /agent/api/conversations/:id/events/search': of(({ events }, { query }) => ({
      json: { items: ordered(events, query), next_page_id: null },
    })),
    'POST /agent/api/conversations/:id/events': of((conversation, { body }) => {
      takeMessage(conversation, textIn(body));
      return TAKEN;
    }),
    'POST /agent/api/conversations/:id/events/respond_to_confirmation': of(
      (conversation, { body }) => {
        respond(server, conversation, (body as { accept: boolean }).accept);
        return TAKEN;
      },
    ),
    'POST /agent/api/conversations/:id/run': of((conversation) => {
      if (conversation.state !== 'running') setState(conversation, 'running');
      return TAKEN;
    }),
    'POST /agent/api/conversations/:id/interrupt': stop,
    'POST /agent/api/conversations/:id/pause': stop,
    'POST /agent/api/conversations/:id/confirmation_policy': of((conversation, { body }) => {
      conversation.policy = String((body as { policy?: { kind?: unknown } }).policy?.kind);
      return TAKEN;
    }),
    'POST /agent/api/bash/start_bash_command': ({ body }) => {
      const { command, cwd } = body as { command: string; cwd: string };
      const { status, stdout, stderr } = spawnSync('bash', ['-c', command], {
        cwd,
        env: COMMAND_ENV,
      });
      output = {
        order: 0,
        exit_code: status,
        stdout: stdout.toString(),
        stderr: stderr.toString(),
      };
      return { json: { id: 'c1' } };
    },
    'GET /agent/api/bash/bash_events/search': () => ({
      json: { items: [output], next_page_id: null },
    }),
  };
}

const COMMAND_ENV = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
};

/** An early agent server answers a rejection with a pause; the action still waits. */
function respond(server: LooseServer, conversation: LooseConversation, accept: boolean): void {
  const action = conversation.events.findLast(({ kind }) => kind === 'ActionEvent');
  if (!accept && server.ignores('rejection')) {
    conversation.events.push(event('PauseEvent', { source: 'user' }));
    return;
  }
  const answered = { action_id: action?.['id'], tool_call_id: action?.['tool_call_id'] };
  conversation.events.push(
    accept
      ? event('ObservationEvent', {
          ...answered,
          observation: { kind: 'TerminalObservation', content: [] },
        })
      : event('UserRejectObservation', { ...answered, source: 'user', rejection_reason: 'no' }),
  );
  setState(conversation, accept ? 'finished' : 'idle');
}
