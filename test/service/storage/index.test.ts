import { describe, expect, it } from 'vitest';
import { numberedConversation, storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

describe('the store', () => {
  it('returns what was written, also after it was reopened', () => {
    db.store.conversations.insert({ ...numberedConversation(1), public: false });
    db.store.conversations.update(numberedConversation(1).id, { title: null, public: true });
    db.store.secrets.put('A', 'value', 'first');
    db.store.documents.write('settings', { deep: [1, null, { x: 'ü' }] });
    db.store.close();
    db.open();
    expect(db.store.conversations.get(numberedConversation(1).id)).toEqual({
      ...numberedConversation(1),
      title: null,
      public: true,
    });
    expect(db.store.secrets.list()).toEqual([{ name: 'A', description: 'first' }]);
    expect(db.store.secrets.get('A')).toEqual({ name: 'A', description: 'first' });
    expect(db.store.secrets.values()).toEqual({ A: 'value' });
    expect(db.store.documents.read('settings')).toEqual({ deep: [1, null, { x: 'ü' }] });
  });

  it('calls its listener after each write, and after no read', () => {
    const seen: string[] = [];
    db.store.onWrite(() => {
      seen.push(db.store.conversations.get(numberedConversation(1).id)?.title ?? 'none');
    });
    db.store.conversations.insert({ ...numberedConversation(1), title: 'first' });
    db.store.conversations.update(numberedConversation(1).id, { title: 'second' });
    db.store.conversations.page({}, 10, 0);
    db.store.conversations.remove(numberedConversation(1).id);
    expect(seen).toEqual(['first', 'second', 'none']);
  });

  it('rolls back a transaction that fails', () => {
    const fails = (): void => {
      db.store.transaction(() => {
        db.store.secrets.put('A', 'x', '');
        throw new Error('no');
      });
    };
    expect(fails).toThrow('no');
    expect(db.store.secrets.list()).toEqual([]);
  });
});
