import { describe, expect, it } from 'vitest';
import type { AppContext } from '../../../src/service/app/context.ts';
import {
  conversationRecord,
  sandboxLookup,
  sandboxStateOf,
  sharedConversationRecord,
} from '../../../src/service/app/conversation-record.ts';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import { conversationRow } from '../../support/conversation-row.ts';
import { storeOfEachTest } from '../storage/support.ts';

const db = storeOfEachTest();
const STAMP = '2026-01-01T00:00:00.000000Z';
const context = (): AppContext => ({ store: db.store }) as AppContext;

/** A stored conversation in a stored sandbox. */
function stored(sandbox: Partial<SandboxRow>, more: Partial<ConversationRow> = {}): ConversationRow {
  const place = { ...newSandbox('process', STAMP), port: 1234, ...sandbox };
  db.store.sandboxes.insert(place);
  const row = conversationRow({ id: 'a'.repeat(32), sandbox_id: place.id, created_at: STAMP, ...more });
  db.store.conversations.insert(row);
  return row;
}

describe('the sandbox of a conversation', () => {
  const sandbox = { ...newSandbox('process', STAMP), status: 'PAUSED' as const };
  it.each([
    ['ready', sandbox, 'PAUSED'],
    ['starting', sandbox, 'STARTING'],
    ['failed', sandbox, 'ERROR'],
    ['ready', null, 'MISSING'],
    ['starting', null, 'STARTING'],
    ['failed', null, 'ERROR'],
  ] as const)('of one that is %s is %o as %s', (start_state, row, state) => {
    expect(sandboxStateOf(conversationRow({ id: 'a', start_state, created_at: STAMP }), row)).toBe(state);
  });

  it('is read once for an answer', () => {
    const row = stored({});
    let reads = 0;
    const { sandboxes } = db.store;
    const get = (id: string) => (reads++, sandboxes.get(id));
    const lookup = sandboxLookup({ store: { ...db.store, sandboxes: { ...sandboxes, get } } } as AppContext);
    expect([
      lookup(row.sandbox_id),
      lookup(row.sandbox_id),
      lookup('none'),
      lookup('none'),
      lookup(null),
    ]).toMatchObject([{ port: 1234 }, { port: 1234 }, null, null, null]);
    expect(reads).toBe(2);
  });
});

describe('the record of a conversation', () => {
  it('has address and key of its sandbox only while that runs and has a port', () => {
    const row = stored({ status: 'RUNNING' }, { execution_status: 'running' });
    const shown = () => conversationRecord(row, context());
    const url = `http://127.0.0.1:1234/api/conversations/${row.id}`;
    const session_api_key = expect.any(String) as string;
    expect(shown()).toMatchObject({ conversation_url: url, session_api_key, execution_status: 'running' });
    const away = { conversation_url: null, session_api_key: null, execution_status: null };
    db.store.sandboxes.update(row.sandbox_id ?? '', { port: null });
    expect(shown()).toMatchObject({ ...away, sandbox_status: 'RUNNING' });
    db.store.sandboxes.update(row.sandbox_id ?? '', { port: 1234, status: 'PAUSED' });
    expect(shown()).toMatchObject({ ...away, sandbox_status: 'PAUSED' });
  });

  it('keeps the status of a run that ended before its sandbox was paused', () => {
    expect(conversationRecord(stored({ status: 'PAUSED' }), context())).toMatchObject({ execution_status: 'finished' });
  });

  it('names the folder of the run, . before there is one, and the commit where there is one', () => {
    const row = stored({});
    const tags = (more: Partial<ConversationRow>): unknown =>
      (conversationRecord({ ...row, ...more }, context()) as { tags: unknown }).tags;
    expect(tags({})).toEqual({ archiveworkspacepath: '.' });
    expect(tags({ working_dir: '/w', base_commit: 'c0' })).toEqual({ archiveworkspacepath: '/w', basecommit: 'c0' });
  });
});

describe('the record for readers without a key', () => {
  it.each([
    ['/home/me/project', null],
    ['FILE:///home/me/project', null],
    ['https://me:password@host.example/a.git', 'https://host.example/a.git'],
    [null, null],
  ])('names the repository %s as %s', (repository, shown) => {
    const row = stored({ status: 'RUNNING' }, { repository, working_dir: '/home/me/work' });
    const record = sharedConversationRecord(row, context());
    expect(record).toMatchObject({ selected_repository: shown });
    const { session_api_key: key } = db.store.sandboxes.get(row.sandbox_id ?? '') ?? {};
    for (const secret of ['/home/me', 'password', String(key), '127.0.0.1']) {
      expect(JSON.stringify(record)).not.toContain(secret);
    }
  });
});
