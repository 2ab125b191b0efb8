import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openProfileStore, type Profile } from '../../src/profiles/store.ts';

const base = mkdtempSync(path.join(os.tmpdir(), 'acs-store-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let configDir = '';
let count = 0;
beforeEach(() => {
  count += 1;
  configDir = path.join(base, `home-${count}`, '.config', 'acs');
});
const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name,
  base_url: `https://${name}.example`,
  created_at: '2026-01-01T00:00:00.000Z',
  ...more,
});

describe('the profile store', () => {
  it('refuses names that are taken, unknown or not allowed', async () => {
    const store = openProfileStore({ configDir });
    await store.add(profile('work'));
    await store.add(profile('other'));
    await expect(store.add(profile('work'))).rejects.toMatchObject({ kind: 'conflict' });
    await expect(store.rename('other', 'work')).rejects.toMatchObject({ kind: 'conflict' });
    await expect(store.rename('other', 'local')).rejects.toMatchObject({ kind: 'usage' });
    await expect(store.remove('constructor')).rejects.toMatchObject({ kind: 'not-found' });
    await expect(store.setDefault('nobody')).rejects.toMatchObject({ kind: 'not-found' });
    for (const name of ['local', '', '-x', 'a,b', '__proto__', 'a b', 'x'.repeat(65)]) {
      expect(() => store.draft(name, 'https://a.example'), name).toThrowError(
        expect.objectContaining({ kind: 'usage' }) as Error,
      );
    }
    await store.add(profile('work', { key: 'new' }), 'replace');
    expect((await store.get('work'))?.key).toBe('new');
  });
});
