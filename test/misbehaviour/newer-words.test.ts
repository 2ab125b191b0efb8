/** Words that newer servers have: event kinds, states of runs and sandboxes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { event, finish, ID, status, userMessage } from '../client/support/v1-server.ts';
import { useIdleV1 } from '../support/use-scripted.ts';

const at = useIdleV1();
beforeEach(() => void at.v1.sandboxes?.clear());

describe('conv follow shows the risk of an action', () => {
  const run = (security_risk: string) =>
    event('ActionEvent', {
      security_risk,
      tool_name: 'terminal',
      action: { kind: 'TerminalAction', command: 'rm a' },
    });
  const analysis = (analyzer: string, risk: string) =>
    event('SecurityAnalysisEvent', {
      source: 'environment',
      analyzer,
      policy: 'NeverConfirm',
      risks: { a: risk },
    });

  it.each<[string, string, string, string, RegExp]>([
    [
      'beside it, where the model has given it',
      'HIGH',
      'LLMSecurityAnalyzer',
      'HIGH',
      /\$ rm a {2}risk: high\n.*✓ done/,
    ],
    [
      'below it, where another analyzer has',
      'UNKNOWN',
      'PatternAnalyzer',
      'MEDIUM',
      /\$ rm a\n.*· risk: medium\n/,
    ],
    ['not at all, where it is low', 'LOW', 'PatternAnalyzer', 'LOW', /\$ rm a\n.*✓ done/],
  ])('%s', async (_, own, analyzer, verdict, out) => {
    at.v1.addConversation({ execution_status: 'finished' });
    const events = [
      userMessage('go'),
      run(own),
      analysis(analyzer, verdict),
      finish('done'),
      status('finished'),
    ];
    at.v1.appEvents = at.v1.agentEvents = events;
    await at.ends(`conv follow ${ID}`, { out, hides: 'SecurityAnalysisEvent' });
  });
});

describe('a conversation that is being deleted', () => {
  it('has the status deleting, which is not an end, and a wait for it exits 5', async () => {
    at.v1.addConversation({ execution_status: 'deleting' });
    at.v1.appEvents = at.v1.agentEvents = [userMessage('go')];
    await at.ends('conv list --status deleting --json', {
      out: { items: [{ id: ID, status: 'deleting' }] },
    });
    await at.ends(`conv show ${ID} --json`, { out: { status: 'deleting' } });
    await at.ends(`conv wait ${ID} --wait-timeout 5m`, { code: 124, err: 'deleting' });
    let reads = 0;
    at.v1.before = ({ path }) => {
      if (path === '/api/v1/app-conversations' && ++reads === 3) at.v1.conversations.clear();
      return null;
    };
    await at.ends(`conv wait ${ID} --json`, { code: 5 });
  });
});

describe('a sandbox whose state the server does not know', () => {
  beforeEach(() => {
    at.v1.addSandbox('sandbox-1', { status: 'UNKNOWN' });
    at.v1.addConversation({
      sandbox_id: 'sandbox-1',
      sandbox_status: 'UNKNOWN',
      execution_status: null,
    });
  });

  it('is unknown in every list and record', async () => {
    const sandbox = { id: 'sandbox-1', status: 'unknown' };
    await at.ends('sandbox list --status unknown --json', { out: { items: [sandbox] } });
    await at.ends('sandbox show sandbox-1 --json', { out: sandbox });
  });

  it.each([
    ['running', 'unknown(no-status)'],
    ['finished', 'finished'],
  ])('hides whether a run continues whose last event is %s', async (word, shown) => {
    at.v1.appEvents = at.v1.agentEvents = [userMessage('go'), status(word)];
    const listed = { sandbox_status: 'unknown', status: 'unknown(no-status)' };
    await at.ends('conv list --json', { out: { items: [listed] } });
    await at.ends(`conv show ${ID} --json`, { out: { ...listed, status: shown } });
  });

  it.each([`conv diff ${ID}`, 'sandbox exec sandbox-1 -- true', `conv events ${ID}`])(
    '%s does not name a way to resume it',
    async (line) => {
      const { err } = await at.acs(...line.split(' '));
      expect(err).not.toMatch(/resume/);
    },
  );
});
