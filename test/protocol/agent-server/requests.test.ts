import type * as v from 'valibot';
import { expect, it } from 'vitest';
import {
  bashCommand,
  bashEventSearch,
  confirmationPolicy,
  sendMessage,
  setSecrets,
  setSecurityAnalyzer,
  socketAuthentication,
  socketMessage,
  socketQuery,
  startConversation,
} from '../../../src/protocol/agent-server/requests.ts';
import { check } from '../../../src/protocol/detail.ts';

const WORKSPACE = { working_dir: '/w' };
const places = (schema: v.GenericSchema, input: unknown): unknown => {
  const checked = check(schema, input, 'body');
  return checked.ok
    ? 'accepted'
    : checked.detail.map(({ type, loc }) => `${loc.slice(1).join('.')}: ${type}`);
};
const value = (schema: v.GenericSchema, input: unknown): unknown => {
  const checked = check(schema, input, 'body');
  return checked.ok ? checked.value : checked.detail;
};

it('members that are left out have the defaults of genuine servers', () => {
  expect(value(sendMessage, {})).toEqual({ role: 'user', content: [], run: false });
  expect(value(bashCommand, { command: 'ls' })).toEqual({ command: 'ls', cwd: null, timeout: 300 });
  expect(value(confirmationPolicy, { kind: 'ConfirmRisky' })).toEqual({
    kind: 'ConfirmRisky',
    threshold: 'HIGH',
    confirm_unknown: true,
  });
  expect(value(startConversation, { workspace: WORKSPACE, replay: [] })).toMatchObject({
    max_iterations: 500,
  });
});

it('a start needs an agent, its settings, a profile or a replay', () => {
  expect(places(startConversation, { workspace: WORKSPACE })).toEqual([': value_error']);
  for (const by of [
    { agent: { llm: { model: 'x' } } },
    { agent: { kind: 'ACPAgent' } },
    { agent_settings: {} },
    { agent_profile_id: 'x' },
    { replay: [] },
  ]) {
    expect([by, places(startConversation, { workspace: WORKSPACE, ...by })]).toEqual([
      by,
      'accepted',
    ]);
  }
});

it.each<[string, v.GenericSchema, unknown, string[]]>([
  [
    'an empty agent',
    startConversation,
    { workspace: WORKSPACE, agent: {} },
    ['agent: value_error'],
  ],
  [
    'an agent of an unknown kind',
    startConversation,
    { workspace: WORKSPACE, agent: { kind: 'X' } },
    ['agent: value_error'],
  ],
  [
    'a replay that is no list of objects',
    startConversation,
    { workspace: WORKSPACE, replay: ['x'] },
    ['replay.0: dict_type'],
  ],
  [
    'no iteration',
    startConversation,
    { workspace: WORKSPACE, replay: [], max_iterations: 0 },
    ['max_iterations: greater_than_equal'],
  ],
  ['a message of an unknown role', sendMessage, { role: 'root' }, ['role: enum']],
  ['a frame without a role', socketMessage, { content: [] }, ['role: missing']],
  [
    'a content that is no list',
    socketMessage,
    { role: 'user', content: 'x' },
    ['content: list_type'],
  ],
  [
    'a key that is not text',
    socketAuthentication,
    { type: 'auth', session_api_key: 1 },
    ['session_api_key: string_type'],
  ],
  [
    'an unknown threshold',
    confirmationPolicy,
    { kind: 'ConfirmRisky', threshold: 'ALL' },
    ['threshold: enum'],
  ],
  ['an analyzer that is left out', setSecurityAnalyzer, {}, ['security_analyzer: missing']],
  [
    'a negative timeout',
    bashCommand,
    { command: 'ls', timeout: -1 },
    ['timeout: greater_than_equal'],
  ],
  [
    'a fractional timeout',
    bashCommand,
    { command: 'ls', timeout: 1.5 },
    ['timeout: int_from_float'],
  ],
  ['a limit of 101', bashEventSearch, { limit: '101' }, ['limit: less_than_equal']],
  ['an unknown resend mode', socketQuery, { resend_mode: 'none' }, ['resend_mode: enum']],
])('%s is refused with its place', (_, schema, input, refused) => {
  expect(places(schema, input)).toEqual(refused);
});

it('a secret is a text, or a source with or without a value', () => {
  const secrets = {
    A: 'a',
    B: { kind: 'StaticSecret', value: 'b' },
    C: { kind: 'LookupSecret' },
    D: { value: null },
  };
  expect(value(setSecrets, { secrets })).toEqual({
    secrets: { A: 'a', B: { value: 'b' }, C: {}, D: { value: null } },
  });
  expect(places(setSecrets, { secrets: { A: 7 } })).not.toBe('accepted');
  expect(JSON.stringify(check(setSecrets, { secrets: { A: ['hush-1'] } }, 'body'))).not.toContain(
    'hush-1',
  );
});
