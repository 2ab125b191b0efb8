import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { Links } from '../../../src/client/shared/links.ts';
import { runStateV1, sandboxStatus, toConversation } from '../../../src/client/v1/records.ts';
import { readAppConversation } from '../../../src/protocol/v1/records.ts';

describe('the status of a V1 run', () => {
  it.each([
    ['idle', 'idle', 'user'],
    ['running', 'running', null],
    ['RUNNING', 'running', null],
    ['paused', 'paused', null],
    ['waiting_for_confirmation', 'waiting', 'confirmation'],
    ['finished', 'finished', null],
    ['error', 'failed', null],
    ['stuck', 'stuck', null],
    ['deleting', 'deleting', null],
    ['dreaming', 'unknown(dreaming)', null],
  ])('reads %s as %s', (word, status, waiting_for) => {
    expect(runStateV1(word, 'running')).toEqual({ status, waiting_for });
  });

  it.each([
    ['starting', 'starting'],
    ['running', 'unknown(no-status)'],
    ['paused', 'paused'],
    ['missing', 'archived'],
    ['error', 'failed'],
    [null, 'unknown(no-status)'],
  ] as const)(
    'follows the sandbox when there is no execution status: %s is %s',
    (sandbox, status) => {
      expect(runStateV1(null, sandbox).status).toBe(status);
    },
  );

  it.each([
    ['finished', 'paused', 'finished'],
    ['finished', 'starting', 'finished'],
    ['finished', 'error', 'finished'],
    ['error', 'missing', 'failed'],
    ['stuck', 'paused', 'stuck'],
    ['running', 'paused', 'paused'],
    ['idle', 'paused', 'paused'],
    ['paused', 'starting', 'starting'],
    ['running', 'missing', 'archived'],
    ['deleting', 'paused', 'paused'],
  ] as const)(
    'of an ended run stays when its sandbox does not run: %s, %s is %s',
    (word, sandbox, status) => {
      expect(runStateV1(word, sandbox)).toEqual({ status, waiting_for: null });
    },
  );

  it('is waiting for a confirmation while its sandbox is paused, and no longer when the sandbox is gone', () => {
    const word = 'waiting_for_confirmation';
    expect(runStateV1(word, 'paused')).toEqual({ status: 'waiting', waiting_for: 'confirmation' });
    expect(runStateV1(word, 'starting').status).toBe('starting');
    expect(runStateV1(word, 'missing').status).toBe('archived');
    expect(runStateV1(word, 'error').status).toBe('failed');
  });
});

it('a sandbox status that is not known yet is shown as such', () => {
  expect([sandboxStatus('PAUSED'), sandboxStatus('SHELVED'), sandboxStatus(null)]).toEqual([
    'paused',
    'unknown(shelved)',
    null,
  ]);
});

it('a conversation has its record, and neither its output nor a copy has the key of the sandbox', () => {
  const key = 'sandbox-key-987654321';
  const record = readAppConversation({ id: '1'.repeat(32), session_api_key: key });
  const links = { app: { baseUrl: 'https://acs.example' }, facts: { features: {} } };
  const conversation = toConversation(links as unknown as Links, record);
  expect(conversation.record).toBe(record);
  for (const shown of [conversation, { ...conversation }, structuredClone(conversation)])
    expect(inspect(shown, { depth: null }) + JSON.stringify(shown)).not.toContain(key);
  expect({ ...conversation }).not.toHaveProperty('record');
});
