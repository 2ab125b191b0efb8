import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventView } from '../../../src/commands/conv/event-view.ts';
import type { ConversationEvent } from '../../../src/domain/event.ts';
import { createWorld, type World } from '../../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
});
afterAll(() => world.close());

describe('the line of an event', () => {
  const line = (members: Partial<ConversationEvent>, startedAt: string | null = null): string => {
    const event: ConversationEvent = {
      type: 'event',
      id: '1',
      conversation_id: 'c',
      timestamp: '2026-01-01T00:01:05.000000Z',
      source: 'agent',
      kind: 'ActionEvent',
      text: 'does it',
      payload: {},
      signal: null,
      ...members,
    };
    const parts = eventView(startedAt).line?.(event) ?? [];
    return parts.map(({ text }) => text).join('');
  };

  it('begins with the time since the start', () => {
    expect(line({}, '2026-01-01T00:00:00Z')).toBe(' 1:05  → does it');
    expect(line({ timestamp: null })).toBe('       → does it');
  });

  it('of an unknown kind is its text', () => {
    expect(line({ kind: 'NewKindOfEvent', text: 'NewKindOfEvent' })).toBe(' 0:00  · NewKindOfEvent');
  });

  it('marks errors', () => {
    expect(line({ kind: 'ConversationErrorEvent', text: 'LLMBadRequestError: no' })).toBe(
      ' 0:00  ✗ LLMBadRequestError: no',
    );
  });

  it('has the first lines of a long command and the count of the others', () => {
    const script = Array.from({ length: 15 }, (_, index) => `line ${index + 1}`);
    const whole = line({
      text: '$ cd x …',
      payload: { action: { kind: 'TerminalAction', command: 'cd x\n  make\n' } },
    });
    expect(whole).toBe(' 0:00  $ cd x\n    make');
    const long = line({ kind: 'action:run', text: '$ line 1 …', payload: { args: { command: script.join('\n') } } });
    expect(long.split('\n').slice(-2)).toEqual(['  line 12', '  … 3 more lines']);
  });

  it('keeps the columns of the output of a failed command', () => {
    const observed = (text: string) => ({
      kind: 'ObservationEvent',
      payload: { observation: { exit_code: 2, content: [{ text }] } },
    });
    expect(line(observed('a  b\n1  2\n'))).toBe(' 0:00  ✗ exit 2\na  b\n1  2');
    expect(line(observed('no such file'))).toBe(' 0:00  ✗ exit 2  no such file');
  });

  it('has the whole answer, however long it and its lines are', () => {
    const answer = [...Array.from({ length: 100 }, (_, index) => `point ${index}`), 'x'.repeat(5000)].join('\n');
    const payload = { action: { kind: 'FinishAction', message: answer } };
    expect(line({ payload })).toBe(` 0:00  ✓ ${answer}`);
  });

  it('has whole messages, over both dialects', () => {
    const content = [{ type: 'text', text: 'one\ntwo' }];
    expect(line({ kind: 'MessageEvent', payload: { llm_message: { content } } })).toBe(' 0:00  agent  one\ntwo');
    expect(line({ kind: 'action:message', signal: 'message', payload: { args: { content: 'one\ntwo' } } })).toBe(
      ' 0:00  you    one\ntwo',
    );
  });
});
