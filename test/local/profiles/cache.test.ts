import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openServerCache } from '../../../src/local/profiles/cache.ts';
import { mode, useConfigDirs } from './support/config-dirs.ts';

const dirs = useConfigDirs();

describe('the cache', () => {
  it('stores values per origin', async () => {
    const cache = openServerCache({ configDir: dirs.configDir });
    await cache.probe.set('https://a.example', { dialects: ['v1'] });
    await cache.last.set('https://a.example', 'abc123');
    expect(await cache.probe.get('https://a.example')).toEqual({ dialects: ['v1'] });
    expect(await cache.probe.get('https://b.example')).toBeNull();
    await cache.probe.drop('https://a.example');
    await cache.probe.drop('https://a.example');
    expect([
      await cache.probe.get('https://a.example'),
      await cache.last.get('https://a.example'),
    ]).toEqual([null, 'abc123']);
  });

  it('has the modes 0700 and 0600', async () => {
    await openServerCache({ configDir: dirs.configDir }).last.set('local', 'abc123');
    const dir = path.join(dirs.configDir, 'cache');
    expect([
      mode(dirs.configDir),
      mode(dir),
      readdirSync(dir).map((name) => mode(path.join(dir, name))),
    ]).toEqual(['700', '700', ['600']]);
  });

  it('is empty when it is corrupt or cannot be written', async () => {
    const cache = openServerCache({ configDir: dirs.configDir });
    await cache.last.set('local', 'abc123');
    const dir = path.join(dirs.configDir, 'cache');
    for (const text of [
      '',
      '{',
      'null',
      '{"origin":7}',
      '{"origin":"local","value":{}}',
      '{"origin":"local","value":"../x"}',
      '{"origin":"local","value":"abc/../x"}',
      '{"origin":"local","value":7}',
      '{"origin":"another","value":"abc123"}',
    ]) {
      for (const name of readdirSync(dir)) writeFileSync(path.join(dir, name), text);
      expect(await cache.last.get('local'), text).toBeNull();
    }
    writeFileSync(path.join(dirs.base, 'blocked'), '');
    const blocked = openServerCache({ configDir: path.join(dirs.base, 'blocked') });
    await blocked.last.set('local', 'abc123');
    expect(await blocked.last.get('local')).toBeNull();
  });
});
