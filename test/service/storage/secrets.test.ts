import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

describe('the store of secrets', () => {
  it('keeps no value of a secret on disk once it was replaced or removed', () => {
    const held = (value: string): string[] =>
      readdirSync(db.folder).filter((name) => readFileSync(path.join(db.folder, name)).includes(value));
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

  it('changes the value of a secret and keeps its description', () => {
    const { secrets } = db.store;
    expect(secrets.put('A', 'one', 'of a')).toBe(true);
    expect(secrets.put('A', 'two', 'another')).toBe(false);
    expect(secrets.get('A')).toEqual({ name: 'A', description: 'of a' });
    expect(secrets.values()).toEqual({ A: 'two' });
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
