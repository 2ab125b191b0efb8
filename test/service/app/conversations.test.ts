import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  conversationRecord,
  removeConversation,
  sandboxOf,
} from '../../../src/service/app/conversations.ts';
import { newSandbox } from '../../../src/service/sandboxes/specs.ts';
import type { ConversationRow } from '../../../src/service/storage/conversations.ts';
import type { SandboxRow } from '../../../src/service/storage/sandboxes.ts';
import { conversationRow } from '../storage/support.ts';
import { appOfEachTest, until } from './support.ts';

const app = appOfEachTest();
const STAMP = '2026-01-01T00:00:00.000000Z';

function storedSandbox(more: Partial<SandboxRow>): string {
  const row = { ...newSandbox('process', STAMP), port: 1234, ...more };
  app.store.sandboxes.insert(row);
  return row.id;
}

describe('the record of a conversation', () => {
  const storedIn = (
    sandbox: Partial<SandboxRow>,
    more: Partial<ConversationRow> = {},
  ): ConversationRow =>
    conversationRow({
      id: 'a'.repeat(32),
      sandbox_id: storedSandbox(sandbox),
      created_at: STAMP,
      ...more,
    });

  it.each([
    ['ready', 'PAUSED'],
    ['starting', 'STARTING'],
    ['failed', 'ERROR'],
  ] as const)('of one that is %s in a paused sandbox has the status %s', (start_state, state) => {
    expect(sandboxOf(storedIn({ status: 'PAUSED' }, { start_state }), app).state).toBe(state);
    const ofNone = start_state === 'ready' ? 'MISSING' : state;
    expect(sandboxOf({ ...storedIn({}, { start_state }), sandbox_id: null }, app)).toEqual({
      sandbox: null,
      state: ofNone,
    });
  });

  it('has address and key of its sandbox only while that runs and has a port', () => {
    const row = storedIn({ status: 'RUNNING' }, { execution_status: 'running' });
    const shown = () => conversationRecord(row, app.context);
    const url = `http://127.0.0.1:1234/api/conversations/${row.id}`;
    const session_api_key = expect.any(String) as string;
    expect(shown()).toMatchObject({
      conversation_url: url,
      session_api_key,
      execution_status: 'running',
    });
    const away = { conversation_url: null, session_api_key: null, execution_status: null };
    app.store.sandboxes.update(row.sandbox_id ?? '', { port: null });
    expect(shown()).toMatchObject({ ...away, sandbox_status: 'RUNNING' });
    app.store.sandboxes.update(row.sandbox_id ?? '', { port: 1234, status: 'PAUSED' });
    expect(shown()).toMatchObject({ ...away, sandbox_status: 'PAUSED' });
  });

  it('keeps the status of a run that ended before its sandbox was paused', () => {
    const record = conversationRecord(storedIn({ status: 'PAUSED' }), app.context);
    expect(record).toMatchObject({ execution_status: 'finished' });
  });

  it('names the folder of the run, . before there is one, and the commit where there is one', () => {
    const row = storedIn({});
    const tags = (more: Partial<ConversationRow>) =>
      conversationRecord({ ...row, ...more }, app.context).tags;
    expect(tags({})).toEqual({ archiveworkspacepath: '.' });
    expect(tags({ working_dir: '/w', base_commit: 'c0' })).toEqual({
      archiveworkspacepath: '/w',
      basecommit: 'c0',
    });
  });
});

describe('the removal of a conversation', () => {
  /** A conversation with a log; the file of the log. */
  const conversationIn = (
    sandbox_id: string | null,
    letter: string,
    parent_id: string | null = null,
  ): string => {
    const id = letter.repeat(32);
    app.store.conversations.insert(
      conversationRow({ id, sandbox_id, parent_id, created_at: STAMP }),
    );
    const folder = app.context.supervisor.folders.events(sandbox_id ?? 'none');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, `${id}.db`), '');
    return path.join(folder, `${id}.db`);
  };
  const remove = (letter: string) => removeConversation(app.context, letter.repeat(32));
  const left = (): string[] =>
    app.store.conversations.page({}, 10, '0').map(({ id }) => id.charAt(0));

  it('of which none is known changes nothing', async () => {
    conversationIn(storedSandbox({ status: 'PAUSED' }), 'a');
    expect(await remove('b')).toBe(false);
    expect(left()).toEqual(['a']);
  });

  it('removes its log, and its sandbox only with the last one in it', async () => {
    const sandbox = storedSandbox({ status: 'PAUSED' });
    const [first, second] = [conversationIn(sandbox, 'a'), conversationIn(sandbox, 'b')];
    expect(await remove('a')).toBe(true);
    const seen = [existsSync(first), existsSync(second), app.store.sandboxes.get(sandbox)?.status];
    expect(seen).toEqual([false, true, 'PAUSED']);
    expect(await remove('b')).toBe(true);
    await until(
      () => [app.store.sandboxes.get(sandbox), existsSync(path.dirname(second))],
      ([row, hasLogs]) => row === null && hasLogs === false,
    );
  });

  it('removes those below it, and no other', async () => {
    const sandbox = storedSandbox({ status: 'PAUSED' });
    conversationIn(sandbox, 'a');
    conversationIn(sandbox, 'b', 'a'.repeat(32));
    conversationIn(sandbox, 'c', 'b'.repeat(32));
    conversationIn(sandbox, 'd');
    expect(await remove('a')).toBe(true);
    expect(left()).toEqual(['d']);
    expect(app.store.sandboxes.get(sandbox)).not.toBeNull();
  });

  it('without a sandbox, or whose worker cannot be reached, removes it all the same', async () => {
    conversationIn(null, 'a');
    const sandbox = storedSandbox({ status: 'RUNNING', port: 1 });
    const [log] = [conversationIn(sandbox, 'b'), conversationIn(sandbox, 'c')];
    expect([await remove('a'), await remove('b')]).toEqual([true, true]);
    expect([left(), existsSync(log)]).toEqual([['c'], false]);
  });
});
