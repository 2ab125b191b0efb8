import { describe, expect, it } from 'vitest';
import type { StartRequest } from '../../../../src/service/app/starts/start-plan.ts';
import { agentConversation, newConversation } from '../../../../src/service/app/starts/start-plan.ts';
import { emptySettings } from '../../../../src/service/app/settings/record.ts';

const REQUEST: StartRequest = {
  dialect: 'V1',
  conversationId: null,
  sandboxId: null,
  spec: null,
  message: { role: 'user', content: [{ type: 'text', text: 'hi' }] },
  replay: [],
  confirmationPolicy: null,
  repository: 'https://host.example/a.git',
  cloneFrom: 'https://me:password@host.example/a.git',
  branch: null,
  provider: null,
  trigger: null,
  prNumber: [],
  llmModel: null,
  parentId: null,
  isPublic: null,
  secrets: { A: 'of the request' },
  extras: {},
  echo: {},
};
const place = { conversationId: 'a'.repeat(32), workingDir: '/workspace', secrets: { A: 'of the user', B: 'b' } };
const body = (conversation: object = {}, more: Partial<StartRequest> = {}) =>
  agentConversation({ ...REQUEST, ...more }, { ...emptySettings(), conversation: conversation as never }, place);

describe('the body for the agent server', () => {
  it('runs the first message, and has the secrets of the request before those of the user', () => {
    expect(body()).toMatchObject({
      conversation_id: place.conversationId,
      initial_message: { role: 'user', run: true },
      workspace: { working_dir: '/workspace' },
      max_iterations: 500,
      secrets: { A: 'of the request', B: 'b' },
      agent: { llm: { model: 'replay' } },
    });
    expect(body({}, { message: null })).toMatchObject({ initial_message: null });
  });

  it('does not name the password of a repository', () => {
    expect(JSON.stringify(body())).not.toContain('password');
  });

  it('requires confirmations as the settings state, and before them as the request states', () => {
    const policy = (conversation: object, more: Partial<StartRequest> = {}) =>
      (body(conversation, more) as { confirmation_policy: unknown }).confirmation_policy;
    expect(policy({})).toEqual({ kind: 'NeverConfirm' });
    expect(policy({ confirmation_mode: true })).toMatchObject({ kind: 'ConfirmRisky', threshold: 'HIGH' });
    const always = { kind: 'AlwaysConfirm' } as never;
    expect(policy({ confirmation_mode: true }, { confirmationPolicy: always })).toEqual(always);
  });

  it.each([
    [{}, { kind: 'LLMSecurityAnalyzer' }],
    [{ security_analyzer: 'llm' }, { kind: 'LLMSecurityAnalyzer' }],
    [{ security_analyzer: 'none' }, null],
    [{ security_analyzer: null }, null],
  ])('has with the settings %j the analyzer %j', (conversation, analyzer) => {
    expect(body({ max_iterations: 7, ...conversation })).toMatchObject({
      security_analyzer: analyzer,
      max_iterations: 7,
    });
  });
});

describe('a new conversation', () => {
  it('has its first title, and stores the repository without its password', () => {
    const row = newConversation('abcdef'.padEnd(32, '0'), REQUEST, 'starting', 'now');
    expect(row).toMatchObject({
      title: 'Conversation abcde',
      execution_status: null,
      created_at: 'now',
      updated_at: 'now',
    });
    expect(JSON.stringify(row)).not.toContain('password');
  });
});
