import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

describe('the store of documents', () => {
  it('returns null for a document that was never written, and the last one that was', () => {
    const { documents } = db.store;
    expect(documents.read('settings')).toBeNull();
    documents.write('settings', { first: true });
    documents.write('settings', { second: ["'", { __proto__: null, deep: null }] });
    documents.write('other', []);
    expect(documents.read('settings')).toEqual({ second: ["'", { deep: null }] });
  });

  it('keeps no overwritten document in a file of the database', () => {
    const { documents } = db.store;
    const filesWith = (text: string): string[] =>
      readdirSync(db.folder).filter((name) => readFileSync(path.join(db.folder, name)).includes(text));
    documents.write('settings', { llm_api_key: 'a-key-of-before' });
    expect(filesWith('a-key-of-before')).not.toEqual([]);
    documents.write('settings', { llm_api_key: 'a-key-of-now' });
    expect([filesWith('a-key-of-before'), filesWith('a-key-of-now').length > 0]).toEqual([[], true]);
  });
});
