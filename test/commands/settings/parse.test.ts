import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useProxiedWorld } from '../../support/proxied-world.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const at = useProxiedWorld('settings', { api, spec: 'process' });
  const acs = at.acs;
  const file = async (name: string, content: string): Promise<string> => {
    await writeFile(path.join(at.world.dir, name), content);
    return name;
  };

  it('names the place of a mistake in a file', async () => {
    const broken = await acs('set', '--file', await file('broken.json', '{\n  "language": de\n}'));
    expect(broken.code).toBe(2);
    expect(broken.err).toMatch(/error: broken\.json is not valid JSON/);
    const list = await acs('set', '--file', await file('list.json', '[]'));
    expect(list).toMatchObject({
      code: 2,
      err: 'error: list.json must hold a JSON object of settings\n  see: acs settings set --help\n',
    });
  });
});
