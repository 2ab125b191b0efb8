import { describe, expect, it } from 'vitest';
import { runStateV1 } from '../../../../src/servers/v1/run-status.ts';
import { sandboxStatus } from '../../../../src/servers/v1/records.ts';
import type { EventReader } from '../../../../src/service/app/page/events.ts';
import { pageFacts } from '../../../../src/service/app/page/facts.ts';
import { EXECUTION_STATUSES } from '../../../../src/service/storage/conversation-state.ts';
import type { ConversationRow } from '../../../../src/service/storage/conversations.ts';
import { appOfSuite } from '../support.ts';
import { conversationRow } from '../../../support/conversation-row.ts';

const app = appOfSuite();
const ID = 'c'.repeat(32);

function facts(row: Partial<ConversationRow>, sandbox: string | null, error: Record<string, unknown> | null = null) {
  const context = {
    ...app.context,
    store: {
      ...app.store,
      sandboxes: { ...app.store.sandboxes, get: () => (sandbox === null ? null : { status: sandbox }) },
    },
  };
  const events = { newest: () => error } as unknown as EventReader;
  const full = conversationRow({ id: ID, created_at: '2026-11-22T10:00:00.000000Z', sandbox_id: 's', ...row });
  return pageFacts(full, context as never, events);
}

describe('the status on the page', () => {
  const SANDBOXES = ['RUNNING', 'PAUSED', 'ERROR', 'STARTING'] as const;
  it.each(SANDBOXES.flatMap((sandbox) => EXECUTION_STATUSES.map((word) => [word, sandbox] as const)))(
    'is that of conv show: %s in a sandbox that is %s',
    (word, sandbox) => {
      const { status, waiting_for } = facts({ execution_status: word }, sandbox);
      expect({ status, waiting_for }).toEqual(runStateV1(word, sandboxStatus(sandbox)));
    },
  );

  it('is archived when the sandbox is gone and the run had not ended', () => {
    expect(facts({ execution_status: 'paused' }, null).status).toBe('archived');
    expect(facts({ execution_status: 'finished' }, null).status).toBe('finished');
  });
});

describe('the other facts of the page', () => {
  it('are those of the record, with the password of a repository left out', () => {
    expect(
      facts({ title: 'A run', repository: 'https://me:hunter22@git.example/a.git', branch: 'main' }, 'RUNNING'),
    ).toMatchObject({
      id: ID,
      title: 'A run',
      repository: 'https://git.example/a.git',
      branch: 'main',
      cost_usd: null,
      tokens: null,
      url: null,
    });
  });

  it('name why a run failed', () => {
    const error = { code: 'Crash', detail: 'it broke' };
    expect(facts({ execution_status: 'error' }, 'RUNNING', error).reason).toEqual({ code: 'Crash', text: 'it broke' });
    expect(facts({ execution_status: 'error' }, 'RUNNING').reason?.text).toBe('no reason is known');
    expect(facts({ execution_status: 'stuck' }, 'RUNNING').reason?.code).toBe('stuck');
    const unstarted = { start_state: 'failed', start_detail: 'no such branch', execution_status: null } as const;
    expect(facts(unstarted, null)).toMatchObject({ status: 'failed', reason: { text: 'no such branch' } });
    expect(facts({ execution_status: 'finished' }, 'RUNNING', error).reason).toBeNull();
  });
});
