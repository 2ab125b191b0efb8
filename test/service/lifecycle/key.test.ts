import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ensureKey, readKey } from '../../../src/service/lifecycle/key.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();

describe('the key of a service', () => {
  it('is made once, for its owner alone', () => {
    const { key } = dataPaths(folder.path);
    expect(readKey(key)).toBeNull();
    const made = ensureKey(key);
    expect(made).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect([ensureKey(key), readKey(key)]).toEqual([made, made]);
    expect(statSync(key).mode & 0o777).toBe(0o600);
  });

  it('may be one that the user wrote, with spaces around it', () => {
    const { key } = dataPaths(folder.path);
    writeFileSync(key, '\n  of-the-user-0123456789  \n');
    expect(ensureKey(key)).toBe('of-the-user-0123456789');
  });
});

describe('an invalid key', () => {
  it.each(['', 'short', 'with spaces in it, and long enough'])('%j is not replaced', (text) => {
    const { key } = dataPaths(folder.path);
    writeFileSync(key, text);
    expect(() => ensureKey(key)).toThrow(`${key} holds no key`);
    expect(readFileSync(key, 'utf8')).toBe(text);
  });
});
