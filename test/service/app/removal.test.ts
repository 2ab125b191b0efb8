import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeConversation } from '../../../src/service/app/removal.ts';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { conversationRow } from '../../support/conversation-row.ts';
import { appOfEachTest, until } from './support.ts';

const app = appOfEachTest();

const STAMP = '2026-01-01T00:00:00.000000Z';

function pausedSandbox(): string {
  const row = newSandbox('process', STAMP);
  app.store.sandboxes.insert({ ...row, status: 'PAUSED' });
  return row.id;
}

/** A conversation with a log; the file of the log. */
function conversationIn(sandbox_id: string | null, letter: string, parent_id: string | null = null): string {
  const id = letter.repeat(32);
  app.store.conversations.insert(conversationRow({ id, sandbox_id, parent_id, created_at: STAMP }));
  const folder = app.context.supervisor.eventsOf(sandbox_id ?? 'none');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, `${id}.db`), '');
  return path.join(folder, `${id}.db`);
}

const remove = (letter: string) => removeConversation(app.context, letter.repeat(32));
const left = (): string[] => app.store.conversations.page({}, 10, 0).map(({ id }) => id.charAt(0));

describe('the removal of a conversation', () => {
  it('of which none is known changes nothing', async () => {
    conversationIn(pausedSandbox(), 'a');
    expect(await remove('b')).toBe(false);
    expect(left()).toEqual(['a']);
  });

  it('removes its log, and its sandbox only with the last one in it', async () => {
    const sandbox = pausedSandbox();
    const [first, second] = [conversationIn(sandbox, 'a'), conversationIn(sandbox, 'b')];
    expect(await remove('a')).toBe(true);
    expect([existsSync(first), existsSync(second), app.store.sandboxes.get(sandbox)?.status]).toEqual([
      false,
      true,
      'PAUSED',
    ]);
    expect(await remove('b')).toBe(true);
    await until(
      () => [app.store.sandboxes.get(sandbox), existsSync(path.dirname(second))],
      ([row, hasLogs]) => row === null && hasLogs === false,
    );
  });

  it('removes those below it, and no other', async () => {
    const sandbox = pausedSandbox();
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
    const row = { ...newSandbox('process', STAMP), status: 'RUNNING' as const, port: 1 };
    app.store.sandboxes.insert(row);
    const [log] = [conversationIn(row.id, 'b'), conversationIn(row.id, 'c')];
    expect([await remove('a'), await remove('b')]).toEqual([true, true]);
    expect([left(), existsSync(log)]).toEqual([['c'], false]);
  });
});
