import { describe, expect, it } from 'vitest';
import { exchangesOf } from '../../../../src/service/agents/model/history.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

let count = 0;
function event(kind: string, source: string, members: object): StoredEvent {
  count += 1;
  return { id: `e${count}`, timestamp: '2026-01-01T00:00:00.000000', source, kind, ...members };
}

const text = (value: string) => [{ type: 'text', text: value }];
const user = (value: string, images: string[] = []) => {
  const content = [
    ...text(value),
    ...(images.length === 0 ? [] : [{ type: 'image', image_urls: images }]),
  ];
  return event('MessageEvent', 'user', { llm_message: { role: 'user', content } });
};
const said = (value: string) =>
  event('MessageEvent', 'agent', { llm_message: { role: 'assistant', content: text(value) } });
const action = (answer: string, id: string, more: object = {}, given = '{"command":"ls"}') =>
  event('ActionEvent', 'agent', {
    thought: [],
    tool_name: 'terminal',
    tool_call_id: id,
    tool_call: { id, name: 'terminal', arguments: given },
    llm_response_id: answer,
    ...more,
  });
const observed = (id: string, value: string, images: string[] = []) => {
  const content = [
    ...text(value),
    ...(images.length === 0 ? [] : [{ type: 'image', image_urls: images }]),
  ];
  return event('ObservationEvent', 'environment', {
    tool_name: 'terminal',
    tool_call_id: id,
    observation: { content },
  });
};
const rejected = (id: string, rejection_reason: string) =>
  event('UserRejectObservation', 'environment', {
    tool_name: 'terminal',
    tool_call_id: id,
    rejection_reason,
  });
const failed = (id: string, error: string) =>
  event('AgentErrorEvent', 'agent', { tool_name: 'terminal', tool_call_id: id, error });
const status = () =>
  event('ConversationStateUpdateEvent', 'environment', {
    key: 'execution_status',
    value: 'running',
  });
const forget = (events: StoredEvent[], summary: string, offset: number) => {
  const forgotten_event_ids = events.map(({ id }) => id);
  return event('Condensation', 'environment', {
    forgotten_event_ids,
    summary,
    summary_offset: offset,
  });
};

/** A message in one line. */
function lines(events: StoredEvent[]): string[] {
  return exchangesOf(events).flatMap(({ messages }) =>
    messages.map(({ role, content }) => {
      if (typeof content === 'string') return `${role}: ${content}`;
      const parts = content.map((part) => {
        if (part.type === 'text' || part.type === 'reasoning') return `${part.type} ${part.text}`;
        if (part.type === 'tool-call')
          return `call ${part.toolCallId} ${JSON.stringify(part.input)}`;
        if (part.type === 'tool-result')
          return `result ${part.toolCallId} ${(part.output as { value: string }).value}`;
        return part.type === 'image' ? `image ${String(part.image)}` : part.type;
      });
      return `${role}: ${parts.join(', ')}`;
    }),
  );
}

const LS = '{"command":"ls"}';
const NO_RESULT = 'This call has no result: it was not completed.';
const [first, second, third] = [action('r1', 'a'), observed('a', 'x'), user('And now?')];

const TABLE: [what: string, events: StoredEvent[], wanted: string[]][] = [
  ['messages', [user('Hello'), said('Hi')], ['user: Hello', 'assistant: Hi']],
  ['states between', [user('Hello'), status(), said('Hi')], ['user: Hello', 'assistant: Hi']],
  [
    'images of a message',
    [user('See', ['data:image/png;base64,AA'])],
    ['user: text See, image data:image/png;base64,AA'],
  ],
  [
    'two calls of one answer, executed one after the other',
    [
      action('r1', 'a', { thought: text('Look.'), reasoning_content: 'Hm.' }),
      observed('a', 'x'),
      action('r1', 'b'),
      observed('b', 'y'),
    ],
    [
      `assistant: reasoning Hm., text Look., call a ${LS}, call b ${LS}`,
      'tool: result a x',
      'tool: result b y',
    ],
  ],
  [
    'a call that was rejected',
    [action('r1', 'a'), rejected('a', 'not so'), user('Try again.')],
    [
      `assistant: call a ${LS}`,
      'tool: result a The user rejected this action: not so',
      'user: Try again.',
    ],
  ],
  [
    'a call that was never executed',
    [action('r1', 'a')],
    [`assistant: call a ${LS}`, `tool: result a ${NO_RESULT}`],
  ],
  [
    'a second call that was never executed, and a message after it',
    [action('r1', 'a'), observed('a', 'x'), action('r1', 'b'), user('Go on.')],
    [
      `assistant: call a ${LS}, call b ${LS}`,
      'tool: result a x',
      `tool: result b ${NO_RESULT}`,
      'user: Go on.',
    ],
  ],
  [
    'a message during a call',
    [action('r1', 'a'), user('Wait.'), observed('a', 'x')],
    [`assistant: call a ${LS}`, 'tool: result a x', 'user: Wait.'],
  ],
  [
    'an error, and then a result of the same call',
    [action('r1', 'a'), failed('a', 'The service ended.'), observed('a', 'late')],
    [`assistant: call a ${LS}`, 'tool: result a The service ended.'],
  ],
  [
    'arguments that are no JSON',
    [action('r1', 'a', {}, '{"command": "l'), failed('a', 'No JSON.')],
    ['assistant: call a {"malformed":"{\\"command\\": \\"l"}', 'tool: result a No JSON.'],
  ],
  [
    'images of a result, after all results',
    [
      action('r1', 'a'),
      observed('a', '', ['http://h/1.png']),
      action('r1', 'b'),
      observed('b', 'y'),
    ],
    [
      `assistant: call a ${LS}, call b ${LS}`,
      'tool: result a (no output)',
      'tool: result b y',
      'user: text Images of terminal:, image http://h/1.png',
    ],
  ],
  [
    'a command of the user',
    [
      user('Hello'),
      action('replay-u', 'u', { source: 'user', action: { command: 'pwd' } }),
      event('ObservationEvent', 'user', {
        tool_call_id: 'u',
        observation: { command: 'pwd', content: text('/home') },
      }),
    ],
    ['user: Hello', 'user: The user ran the command `pwd`:\n/home'],
  ],
  ['a result without a call', [user('Hello'), observed('none', 'x')], ['user: Hello']],
  [
    'a condensation',
    [user('Task'), first, second, third, forget([first, second], 'Did ls.', 1)],
    [
      'user: Task',
      'user: Summary of the earlier part of this conversation:\n\nDid ls.',
      'user: And now?',
    ],
  ],
  [
    'a second condensation, which replaces the first',
    [
      user('Task'),
      first,
      second,
      forget([first, second], 'Did ls.', 1),
      third,
      forget([third], 'All of it.', 1),
    ],
    ['user: Task', 'user: Summary of the earlier part of this conversation:\n\nAll of it.'],
  ],
];

it('a message of the user has the texts of the skills that it triggered', () => {
  const message = { ...user('use the database'), extended_content: text('Skill db: Postgres.') };
  expect(exchangesOf([message])[0]?.messages).toEqual([
    { role: 'user', content: 'use the database\n\nSkill db: Postgres.' },
  ]);
});

it.each(TABLE)('the messages of %s', (_what, events, wanted) => {
  expect(lines(events)).toEqual(wanted);
});

describe('for any order of events', () => {
  /** A generator of numbers with a seed. */
  function* numbers(seed: number): Generator<number, never> {
    for (let state = seed; ;) {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      yield state / 2 ** 31;
    }
  }

  it('each call has one result, right after the answer that made it, in the order of the calls', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = numbers(seed);
      const draw = (limit: number): number => Math.floor(random.next().value * limit);
      const events: StoredEvent[] = [];
      for (let step = 0; step < 25; step += 1) {
        const id = `c${draw(8)}`;
        const make = [
          () => user('u', draw(2) === 0 ? [] : ['http://h/i.png']),
          () => said('s'),
          () => action(`r${draw(4)}`, id),
          () => observed(id, 'o', draw(2) === 0 ? [] : ['http://h/i.png']),
          () => rejected(id, 'no'),
          () => failed(id, 'e'),
          () =>
            forget(
              events.filter(() => draw(3) === 0),
              'sum',
              draw(4),
            ),
        ][draw(7)];
        const made = make?.();
        // An id of a call is used once.
        if (
          made &&
          !(made.kind === 'ActionEvent' && events.some((each) => each['tool_call_id'] === id))
        )
          events.push(made);
      }
      const open: string[] = [];
      for (const message of exchangesOf(events).flatMap(({ messages }) => messages)) {
        if (message.role === 'tool') {
          for (const part of message.content)
            if (part.type === 'tool-result') expect(part.toolCallId).toBe(open.shift());
          continue;
        }
        expect(open).toEqual([]);
        if (message.role !== 'assistant' || typeof message.content === 'string') continue;
        open.push(
          ...message.content.flatMap((part) =>
            part.type === 'tool-call' ? [part.toolCallId] : [],
          ),
        );
        expect(open.length).toBeGreaterThan(0);
      }
      expect(open).toEqual([]);
    }
  });
});
