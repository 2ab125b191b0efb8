import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openServerCache } from '../../../src/local/profiles/cache.ts';
import { mode, useConfigDirs } from '../../support/temporary-folder.ts';

const dirs = useConfigDirs();

describe('the cache', () => {
  it('stores values per origin', () => {
    const probe = openServerCache('probe', dirs.configDir);
    const last = openServerCache('last', dirs.configDir);
    probe.set('https://a.example', { dialects: ['v1'] });
    last.set('https://a.example', 'abc123');
    expect(probe.get('https://a.example')).toEqual({ dialects: ['v1'] });
    expect(probe.get('https://b.example')).toBeNull();
    probe.drop('https://a.example');
    probe.drop('https://a.example');
    expect([probe.get('https://a.example'), last.get('https://a.example')]).toEqual([
      null,
      'abc123',
    ]);
  });

  it('has the modes 0700 and 0600', () => {
    openServerCache('last', dirs.configDir).set('local', 'abc123');
    const dir = path.join(dirs.configDir, 'cache');
    expect([
      mode(dirs.configDir),
      mode(dir),
      readdirSync(dir).map((name) => mode(path.join(dir, name))),
    ]).toEqual(['700', '700', ['600']]);
  });

  it('is empty when it is corrupt or cannot be written', () => {
    const last = openServerCache('last', dirs.configDir);
    last.set('local', 'abc123');
    const dir = path.join(dirs.configDir, 'cache');
    for (const text of ['', '{', 'null', '{"origin":7}', '{"origin":"another","value":"abc123"}']) {
      for (const name of readdirSync(dir)) writeFileSync(path.join(dir, name), text);
      expect(last.get('local'), text).toBeNull();
    }
    writeFileSync(path.join(dirs.base, 'blocked'), '');
    const blocked = openServerCache('last', path.join(dirs.base, 'blocked'));
    blocked.set('local', 'abc123');
    expect(blocked.get('local')).toBeNull();
  });
});
