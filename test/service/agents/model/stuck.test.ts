import { expect, it } from 'vitest';
import { isStuck } from '../../../../src/service/agents/model/stuck.ts';
import type { StoredEvent } from '../../../../src/service/storage/conversation-state.ts';

let count = 0;
function event(kind: string, source: string, members: object): StoredEvent {
  count += 1;
  return { id: `e${count}`, timestamp: '2026-01-01T00:00:00.000000', source, kind, ...members };
}

const wrong = (input: string) =>
  event('ActionEvent', 'agent', {
    thought: [],
    tool_name: 'terminal',
    tool_call: { arguments: input },
    tool_call_id: `c${count}`,
  });
const action = (command: string, thought = '') =>
  event('ActionEvent', 'agent', {
    thought: [{ text: thought }],
    action: { command, kind: 'TerminalAction' },
    tool_name: 'terminal',
    tool_call: { arguments: JSON.stringify({ command }) },
    tool_call_id: `c${count}`,
  });
const observed = (text: string) =>
  event('ObservationEvent', 'environment', {
    tool_name: 'terminal',
    observation: { content: [{ text }], metadata: { pid: count } },
  });
const failed = (error: string) =>
  event('AgentErrorEvent', 'agent', { tool_name: 'terminal', error });
const said = (text: string) =>
  event('MessageEvent', 'agent', { llm_message: { content: [{ text }] } });
const user = () =>
  event('MessageEvent', 'user', { llm_message: { content: [{ text: 'Go on.' }] } });
const status = () => event('ConversationStateUpdateEvent', 'environment', {});
const times = (n: number, make: (index: number) => StoredEvent[]) =>
  Array.from({ length: n }, (_, i) => make(i)).flat();
const pair = () => [action('ls'), observed('x')];

// Source: stuck_detector.py of openhands-sdk 1.58.0, which compares no arguments of wrong calls.
const TABLE: [what: string, events: StoredEvent[], stuck: boolean][] = [
  ['nothing', [], false],
  ['the same call and result three times', times(3, pair), false],
  ['the same call and result four times', times(4, pair), true],
  ['the same four times, with states between', times(4, () => [...pair(), status()]), true],
  [
    'the same call with different results',
    times(6, (i) => [action('date'), observed(`${i}`)]),
    false,
  ],
  [
    'different calls with the same result',
    times(5, (i) => [action(`touch ${i}`), observed('')]),
    false,
  ],
  [
    'the same call with different thoughts',
    times(6, (i) => [action('ls', `${i}`), observed('x')]),
    false,
  ],
  ['the same call and three errors', times(3, (i) => [action('l'), failed(`${i}`)]), false],
  ['the same call and four errors', times(4, (i) => [action('l'), failed(`${i}`)]), true],
  [
    'wrong calls that differ, and four errors',
    times(4, (i) => [wrong(`${i}`), failed('No.')]),
    false,
  ],
  ['the same wrong call, and four errors', times(4, () => [wrong('a'), failed('No.')]), true],
  ['two messages without one of the user', times(2, () => [said('Hm.')]), false],
  ['three messages without one of the user', times(3, (i) => [said(`${i}`)]), true],
  [
    'two calls in turn, five of them',
    times(5, (i) => [action(`${i % 2}`), observed(`${i % 2}`)]),
    false,
  ],
  [
    'two calls in turn, six of them',
    times(6, (i) => [action(`${i % 2}`), observed(`${i % 2}`)]),
    true,
  ],
  ['three calls in turn', times(9, (i) => [action(`${i % 3}`), observed(`${i % 3}`)]), false],
  ['a message of the user between', [...times(3, pair), user(), ...times(3, pair)], false],
  ['the same after a message of the user', [user(), ...times(4, pair)], true],
];

it.each(TABLE)(
  '%s is seen as a repetition, or not, by the rules of genuine servers',
  (_what, events, stuck) => {
    expect(isStuck(events)).toBe(stuck);
  },
);
