import { conversationRow } from '../../support/conversation-row.ts';
import { describe, expect, it } from 'vitest';
import { numberedConversation, storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

describe('the store of conversations', () => {
  it('pages through 5,000 conversations, newest first, each once', () => {
    db.store.transaction(() => {
      for (let number = 0; number < 5000; number++) db.store.conversations.insert(numberedConversation(number));
    });
    expect(db.store.conversations.count({})).toBe(5000);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 100) {
      const page = db.store.conversations.page({}, 100, offset);
      if (page.length === 0) break;
      seen.push(...page.map((each) => each.id));
    }
    expect(seen).toHaveLength(5000);
    expect(new Set(seen).size).toBe(5000);
    expect(seen[0]).toBe(numberedConversation(4999).id);
    expect(db.store.conversations.count({ topLevelOnly: true })).toBe(4500);
    expect(db.store.conversations.count({ repository: 'a/b' })).toBe(2500);
    expect(db.store.conversations.count({ titleContains: 'conversation 499' })).toBe(11);
    expect(db.store.conversations.count({ createdGte: numberedConversation(4990).created_at })).toBe(10);
    expect(db.store.conversations.count({ createdLt: numberedConversation(10).created_at })).toBe(10);
    expect(db.store.conversations.childrenOf(numberedConversation(8).id)).toEqual([numberedConversation(9).id]);
  });

  it('counts a conversation as running only while its sandbox runs', () => {
    const sandbox = {
      id: 's',
      spec_id: 'process',
      isolation: 'process' as const,
      status: 'RUNNING' as const,
      status_detail: null,
      session_api_key: 'k',
      port: null,
      working_dir: null,
      worker_pid: null,
      worker_start: null,
      created_at: '',
      last_active_at: '',
    };
    db.store.sandboxes.insert(sandbox);
    db.store.conversations.insert({ ...numberedConversation(1), sandbox_id: 's', execution_status: 'running' });
    expect(db.store.conversations.isAnyRunning()).toBe(true);
    db.store.sandboxes.update('s', { status: 'PAUSED' });
    expect(db.store.conversations.isAnyRunning()).toBe(false);
  });

  it('changes only the members that are given, and clears one that is null', () => {
    const { conversations } = db.store;
    const row = numberedConversation(1);
    conversations.insert(row);
    conversations.update(row.id, {});
    conversations.update(row.id, { branch: 'next', title: null, public: false });
    expect(conversations.get(row.id)).toEqual({ ...row, branch: 'next', title: null, public: false });
    conversations.update('0'.repeat(32), { title: 'of none' });
    expect(conversations.count({})).toBe(1);
  });

  it('shows a remembered change everywhere until the next one is written', () => {
    const { conversations } = db.store;
    const row = { ...numberedConversation(1), sandbox_id: 's' };
    conversations.insert(row);
    conversations.remember(row.id, { execution_status: 'error' });
    conversations.remember(row.id, { title: 'Remembered' });
    const changed = { ...row, execution_status: 'error', title: 'Remembered' };
    expect([conversations.get(row.id), ...conversations.page({}, 9, 0), ...conversations.ofSandbox('s')]).toEqual([
      changed,
      changed,
      changed,
    ]);
    conversations.update(row.id, { branch: 'next' });
    expect(conversations.get(row.id)).toEqual({ ...row, branch: 'next' });
  });

  it('names each sandbox once whose started conversations have no known status', () => {
    const { conversations } = db.store;
    const rows = [
      ['a', 's', null, 'ready'],
      ['b', 's', null, 'ready'],
      ['c', 'known', 'idle', 'ready'],
      ['d', 'failed', null, 'failed'],
      ['e', null, null, 'ready'],
    ] as const;
    for (const [letter, sandbox_id, execution_status, start_state] of rows) {
      const id = letter.repeat(32);
      conversations.insert(conversationRow({ id, sandbox_id, execution_status, start_state, created_at: '' }));
    }
    expect(conversations.sandboxesOfUnknown()).toEqual(['s']);
  });

  it('takes a quote in a filter as text, and % as a wildcard', () => {
    const { conversations } = db.store;
    conversations.insert({ ...numberedConversation(1), title: "it's 100 %" });
    conversations.insert({ ...numberedConversation(2), title: 'it is' });
    expect(conversations.page({ titleContains: "it's" }, 9, 0).map(({ title }) => title)).toEqual(["it's 100 %"]);
    expect(conversations.count({ titleContains: '%' })).toBe(2);
    expect(conversations.count({ titleContains: "' OR 1=1 --" })).toBe(0);
  });
});
