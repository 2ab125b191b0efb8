/** Records for exports, and events in them. */
import type { PageRecord } from '../../src/page/page.ts';
import type { ConversationDiff } from '../../src/domain/edits.ts';
import { blankConversation, type Conversation } from '../../src/domain/conversation.ts';
import type { ConversationEvent } from '../../src/domain/event.ts';

interface Parts {
  conversation?: Partial<Conversation>;
  events?: readonly ConversationEvent[];
  answer?: string | null;
  diff?: Partial<Omit<ConversationDiff, 'patch'>> & { patch?: string };
}

export function recordOf({
  conversation,
  events = [],
  answer = null,
  diff = {},
}: Parts): PageRecord {
  return {
    conversation: {
      ...blankConversation('c'.repeat(32), 'finished'),
      title: 'A run',
      ...conversation,
    },
    async *events() {
      await Promise.resolve();
      yield [...events];
    },
    answer: () => Promise.resolve(answer),
    diff: () =>
      Promise.resolve({
        source: 'workspace',
        files: [],
        omissions: [],
        ...diff,
        patch: Buffer.from(diff.patch ?? ''),
      }),
  };
}

export async function textOf(parts: AsyncIterable<string | Uint8Array>): Promise<string> {
  let text = '';
  for await (const part of parts) text += Buffer.from(part).toString('utf8');
  return text;
}

let count = 0;

export function event(
  kind: string,
  payload: Record<string, unknown>,
  members: Partial<ConversationEvent> = {},
) {
  count += 1;
  return {
    type: 'event' as const,
    id: `e${count}`,
    conversation_id: 'c'.repeat(32),
    timestamp: '2026-11-22T10:00:00.000000Z',
    source: 'agent',
    kind,
    text: '',
    payload,
    signal: null,
    ...members,
  };
}

/** A command and its observation. */
export function ran(command: string, output: string, exitCode = 0): ConversationEvent[] {
  const action = event(
    'ActionEvent',
    { action: { kind: 'TerminalAction', command }, thought: [{ type: 'text', text: '' }] },
    { text: `$ ${command}` },
  );
  const observation = {
    kind: 'TerminalObservation',
    content: [{ type: 'text', text: output }],
    exit_code: exitCode,
    is_error: false,
  };
  return [
    action,
    event(
      'ObservationEvent',
      { observation, action_id: action.id },
      { source: 'environment', text: output },
    ),
  ];
}
