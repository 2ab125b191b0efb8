import { describe, expect, it } from 'vitest';
import { openProfileStore } from '../../src/profiles/store.ts';
import { profile, useConfigDirs } from './support/config-dirs.ts';

const dirs = useConfigDirs();

describe('the profile store', () => {
  it('refuses names that are taken, unknown or not allowed', async () => {
    const store = openProfileStore(dirs);
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
