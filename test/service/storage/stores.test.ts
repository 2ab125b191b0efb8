import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import type { StartTaskRow } from '../../../src/service/storage/start-tasks.ts';
import { ConversationStore } from '../../../src/service/storage/conversations.ts';
import { openDatabase, type Sql, type SqlValue } from '../../../src/service/storage/database.ts';
import { SandboxStore } from '../../../src/service/storage/sandboxes.ts';
import { StartTaskStore } from '../../../src/service/storage/start-tasks.ts';
import { numberedConversation, storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

describe('the store', () => {
  it('returns what was written, also after it was reopened', () => {
    const { id } = numberedConversation(1);
    db.store.conversations.insert({ ...numberedConversation(1), public: false });
    db.store.conversations.update(id, {});
    db.store.conversations.update(id, { title: null, public: true });
    db.store.conversations.update('0'.repeat(32), { title: 'of none' });
    db.store.documents.write('settings', { deep: [1, null, { x: 'ü' }] });
    db.store.close();
    db.open();
    expect(db.store.conversations.count({})).toBe(1);
    expect(db.store.conversations.get(id)).toEqual({
      ...numberedConversation(1),
      title: null,
      public: true,
    });
    expect(db.store.documents.read('settings')).toEqual({ deep: [1, null, { x: 'ü' }] });
  });

  it('calls its listener after each write, and after no read', () => {
    const seen: string[] = [];
    db.store.onWrite(() => {
      seen.push(db.store.conversations.get(numberedConversation(1).id)?.title ?? 'none');
    });
    db.store.conversations.insert({ ...numberedConversation(1), title: 'first' });
    db.store.conversations.update(numberedConversation(1).id, { title: 'second' });
    db.store.conversations.page({}, 10, '0');
    db.store.conversations.remove(numberedConversation(1).id);
    expect(seen).toEqual(['first', 'second', 'none']);
  });
});

describe('the store of conversations', () => {
  it('pages through 1,000 conversations, newest first, each once', () => {
    const { conversations } = db.store;
    const rows = Array.from({ length: 1000 }, (_, number) => numberedConversation(number));
    db.store.transaction(() => rows.forEach((row) => conversations.insert(row)));
    const pages = Array.from({ length: 10 }, (_, page) =>
      conversations.page({}, 100, String(page * 100)),
    );
    expect(pages.flat()).toEqual(rows.toReversed());
    expect(conversations.count({ topLevelOnly: true })).toBe(900);
    expect(conversations.count({ repository: 'a/b' })).toBe(500);
    expect(conversations.count({ titleContains: 'conversation 99' })).toBe(11);
    expect(conversations.count({ createdGte: numberedConversation(990).created_at })).toBe(10);
    expect(conversations.count({ createdLt: numberedConversation(10).created_at })).toBe(10);
    expect(conversations.childrenOf(numberedConversation(8).id)).toEqual([
      numberedConversation(9).id,
    ]);
  });

  it('continues behind the last row of a page, whatever was added and removed since', () => {
    const { conversations } = db.store;
    for (const number of [1, 3, 5, 7]) conversations.insert(numberedConversation(number));
    const [newest, last] = conversations.page({ dialect: 'V1' }, 2, '0');
    conversations.insert(numberedConversation(9));
    for (const row of [newest, last]) conversations.remove(row?.id ?? '');
    const next = conversations.page({ dialect: 'V1' }, 2, last?.created_at ?? '');
    expect(next).toEqual([3, 1].map(numberedConversation));
  });

  it('counts what was inserted and removed, also in a transaction that failed', () => {
    const { conversations } = db.store;
    for (const number of [1, 2, 8, 9]) conversations.insert(numberedConversation(number));
    conversations.remove(numberedConversation(1).id);
    const failing = (): void => {
      db.store.transaction(() => {
        conversations.insert(numberedConversation(3));
        throw new Error('failed');
      });
    };
    expect(failing).toThrow('failed');
    const counts = [
      {},
      { topLevelOnly: true },
      { dialect: 'V1' },
      { dialect: 'V1', topLevelOnly: true },
    ] as const;
    expect(counts.map((filter) => conversations.count(filter))).toEqual([3, 2, 1, 0]);
  });

  it('counts a conversation as running only while its sandbox runs', () => {
    const sandbox = { ...newSandbox('process', ''), status: 'RUNNING' as const };
    db.store.sandboxes.insert(sandbox);
    db.store.conversations.insert({
      ...numberedConversation(1),
      sandbox_id: sandbox.id,
      execution_status: 'running',
    });
    expect(db.store.conversations.countRunning()).toBe(1);
    db.store.sandboxes.update(sandbox.id, { status: 'PAUSED' });
    expect(db.store.conversations.countRunning()).toBe(0);
  });

  it('names each sandbox once whose started conversations have no known status', () => {
    const rows = [
      ['s', null, 'ready'],
      ['s', null, 'ready'],
      ['known', 'idle', 'ready'],
      ['failed', null, 'failed'],
      [null, null, 'ready'],
    ] as const;
    for (const [number, [sandbox_id, execution_status, start_state]] of rows.entries())
      db.store.conversations.insert({
        ...numberedConversation(number),
        sandbox_id,
        execution_status,
        start_state,
      });
    expect(db.store.conversations.sandboxesOfUnknown()).toEqual(['s']);
  });

  it('takes a quote in a filter as text, and % as a wildcard', () => {
    const { conversations } = db.store;
    conversations.insert({ ...numberedConversation(1), title: "it's 100 %" });
    conversations.insert({ ...numberedConversation(2), title: 'it is' });
    expect(conversations.page({ titleContains: "it's" }, 9, '0').map(({ title }) => title)).toEqual(
      ["it's 100 %"],
    );
    expect(conversations.count({ titleContains: '%' })).toBe(2);
    expect(conversations.count({ titleContains: "' OR 1=1 --" })).toBe(0);
  });
});

it('the store of sandboxes lists the newest first in pages, changes what is given, and removes a row once', () => {
  const { sandboxes } = db.store;
  const rows = [1, 2, 3].map((second) =>
    newSandbox('process', `2026-01-01T00:00:0${second}.000000Z`),
  );
  for (const row of rows) sandboxes.insert(row);
  const [first, second, third] = rows;
  expect([sandboxes.page(2, '0'), sandboxes.page(2, '2')]).toEqual([[third, second], [first]]);
  expect(sandboxes.all()).toEqual(rows);
  const id = first?.id ?? '';
  sandboxes.update(id, { port: 1234, status_detail: 'why' });
  sandboxes.update(id, { status_detail: null });
  expect(sandboxes.get(id)).toEqual({ ...first, port: 1234, status_detail: null });
  expect([sandboxes.remove(id), sandboxes.remove(id)]).toEqual([true, false]);
});

it('a member without a column is refused, and nothing is written', () => {
  const { sandboxes } = db.store;
  const row = newSandbox('process', '');
  const other = { unknown: 1 };
  expect(() => sandboxes.insert({ ...row, ...other })).toThrow("sandboxes has no column 'unknown'");
  sandboxes.insert(row);
  expect(() => sandboxes.update(row.id, { port: 1, ...other })).toThrow("no column 'unknown'");
  expect(sandboxes.all()).toEqual([row]);
});

describe('the store of start tasks', () => {
  const stamp = (number: number): string => `2026-01-01T00:00:0${number}.000000Z`;
  const task = (number: number, more: Partial<StartTaskRow> = {}): StartTaskRow => ({
    id: `task-${number}`,
    dialect: 'V1',
    status: 'WORKING',
    detail: null,
    app_conversation_id: null,
    conversation_id: `conversation-${number}`,
    sandbox_id: null,
    agent_server_url: null,
    request: { title: "it's", nested: [{ deep: null }] },
    created_at: stamp(number),
    updated_at: stamp(number),
    ...more,
  });

  it('filters by dialect, conversation and time, and counts what it would list', () => {
    const { startTasks } = db.store;
    for (const number of [1, 2, 3]) startTasks.insert(task(number));
    startTasks.insert(task(4, { dialect: 'V0', conversation_id: 'conversation-3' }));
    startTasks.update('task-1', { status: 'ERROR', detail: 'why' });
    expect(startTasks.get('task-1')).toEqual(task(1, { status: 'ERROR', detail: 'why' }));
    expect(startTasks.get('task-5')).toBeNull();
    const filters = [
      [{}, ['task-1', 'task-2', 'task-3', 'task-4']],
      [{ dialect: 'V1' }, ['task-1', 'task-2', 'task-3']],
      [{ conversationId: 'conversation-3' }, ['task-3', 'task-4']],
      [{ createdGte: stamp(2), dialect: 'V1' }, ['task-2', 'task-3']],
      [{ conversationId: "' OR 1=1 --" }, []],
    ] as const;
    for (const [filter, ids] of filters) {
      expect(startTasks.page(filter, 'CREATED_AT', 10, 0).map(({ id }) => id)).toEqual(ids);
      expect(startTasks.count(filter)).toBe(ids.length);
    }
  });

  it.each([
    ['CREATED_AT', ['task-2', 'task-3']],
    ['CREATED_AT_DESC', ['task-2', 'task-1']],
    ['UPDATED_AT', ['task-3', 'task-1']],
    ['UPDATED_AT_DESC', ['task-3', 'task-2']],
  ] as const)('orders by %s, in pages', (sort, ids) => {
    db.store.startTasks.insert(task(1, { updated_at: stamp(9) }));
    for (const number of [2, 3]) db.store.startTasks.insert(task(number));
    expect(db.store.startTasks.page({}, sort, 2, 1).map(({ id }) => id)).toEqual(ids);
  });

  it('names as unfinished each task that is neither ready nor failed', () => {
    const statuses = [
      'WORKING',
      'READY',
      'WAITING_FOR_SANDBOX',
      'ERROR',
      'STARTING_CONVERSATION',
    ] as const;
    for (const [number, status] of statuses.entries())
      db.store.startTasks.insert(task(number, { status }));
    expect(db.store.startTasks.unfinished().map(({ id }) => id)).toEqual([
      'task-0',
      'task-2',
      'task-4',
    ]);
  });
});

describe('the store of secrets', () => {
  it('keeps no value of a secret on disk once it was replaced or removed', () => {
    const held = (value: string): string[] =>
      readdirSync(db.folder).filter((name) =>
        readFileSync(path.join(db.folder, name)).includes(value),
      );
    db.store.secrets.put('A', 'the-first-value', '');
    db.store.secrets.put('B', 'another-value', '');
    expect([held('the-first-value').length, held('another-value').length]).not.toContain(0);
    db.store.secrets.put('A', 'the-second-value', '');
    expect(held('the-first-value')).toEqual([]);
    db.store.secrets.remove('A');
    db.store.secrets.remove('B');
    db.store.documents.write('git_providers', { github: { token: 'a-provider-token' } });
    db.store.documents.write('git_providers', {});
    expect(held('a-provider-token')).toEqual([]);
    expect([held('the-second-value'), held('another-value')]).toEqual([[], []]);
  });

  it('changes the value of a secret and keeps its description, unless the transaction fails', () => {
    const { secrets } = db.store;
    secrets.put('A', 'one', 'of a');
    secrets.put('A', 'two', 'another');
    const fails = (): void => {
      db.store.transaction(() => {
        secrets.put('A', 'three', '');
        throw new Error('no');
      });
    };
    expect(fails).toThrow('no');
    expect([secrets.get('A'), secrets.values()]).toEqual([
      { name: 'A', description: 'of a' },
      { A: 'two' },
    ]);
  });

  it('renames a secret with its value, and never onto one that exists', () => {
    const { secrets } = db.store;
    secrets.put('A', 'of-a', '');
    secrets.put('B', 'of-b', '');
    secrets.rename('A', 'C', 'renamed');
    expect(secrets.list()).toEqual([
      { name: 'B', description: '' },
      { name: 'C', description: 'renamed' },
    ]);
    expect(() => {
      secrets.rename('C', 'B', '');
    }).toThrow(/UNIQUE/);
    expect(secrets.values()).toEqual({ B: 'of-b', C: 'of-a' });
  });

  it('takes any text as a name or a value', () => {
    const { secrets } = db.store;
    const hostile = `'; DROP TABLE secrets; -- "ü" __proto__`;
    secrets.put(hostile, hostile, hostile);
    expect(secrets.values()).toEqual({ [hostile]: hostile });
    expect(secrets.remove('%')).toBe(false);
    expect(secrets.remove(hostile)).toBe(true);
    expect(secrets.list()).toEqual([]);
  });
});

/** The plans of SQLite for the reads of `work`. */
function plansOf(work: (sql: Sql) => void): string[] {
  // A checkpoint of one connection would wait for the other.
  db.store.close();
  const sql = openDatabase(db.file);
  const plans: string[] = [];
  const explain = (text: string, values: SqlValue[]): void => {
    const steps = sql.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...values);
    if (!text.includes('pragma_')) plans.push(...steps.map(({ detail }) => detail));
  };
  work({
    ...sql,
    get: <Row>(text: string, ...values: SqlValue[]) => {
      explain(text, values);
      return sql.get<Row>(text, ...values);
    },
    all: <Row>(text: string, ...values: SqlValue[]) => {
      explain(text, values);
      return sql.all<Row>(text, ...values);
    },
  });
  sql.close();
  db.open();
  return plans;
}

describe('a read of the store', () => {
  const key = numberedConversation(1).created_at;

  it('of a page of conversations begins at its place in an index', () => {
    const filters = [{ dialect: 'V0' }, { dialect: 'V1', topLevelOnly: true }] as const;
    const plans = plansOf((sql) => {
      const store = new ConversationStore(sql);
      for (const filter of filters) for (const from of ['0', key]) store.page(filter, 10, from);
    });
    const index = 'SEARCH conversations USING INDEX conversations_by_dialect';
    const [first, later] = [`${index} (dialect=?)`, `${index} (dialect=? AND created_at<?)`];
    expect(plans).toEqual([first, later, first, later]);
    const ofSandbox = plansOf((sql) =>
      new ConversationStore(sql).page({ dialect: 'V1', sandboxId: 's' }, 10, '0'),
    );
    expect(ofSandbox).toEqual([
      'SEARCH conversations USING INDEX conversations_by_sandbox (sandbox_id=?)',
    ]);
    expect(plansOf((sql) => new SandboxStore(sql).page(10, key))).toEqual([
      'SEARCH sandboxes USING INDEX sandboxes_by_time (created_at<?)',
    ]);
  });

  it('that counts conversations reads no conversation', () => {
    const plans = plansOf((sql) => {
      const store = new ConversationStore(sql);
      for (const filter of [{}, { dialect: 'V0' }, { dialect: 'V1', topLevelOnly: true }] as const)
        store.count(filter);
    });
    expect(plans.filter((plan) => !plan.includes('conversation_counts'))).toEqual([]);
  });

  it('walks through no table without an index', () => {
    const plans = plansOf((sql) => {
      const conversations = new ConversationStore(sql);
      conversations.page({}, 10, '0');
      conversations.sandboxesOfUnknown();
      conversations.childrenOf('id');
      conversations.countRunning();
      conversations.ofSandbox('id');
      const tasks = new StartTaskStore(sql);
      tasks.page({ dialect: 'V1' }, 'CREATED_AT_DESC', 10, 0);
      tasks.count({ dialect: 'V1', conversationId: 'id' });
      tasks.unfinished();
    });
    expect(plans.filter((plan) => /^SCAN (?!.* USING (?:COVERING )?INDEX )/.test(plan))).toEqual(
      [],
    );
  });
});
