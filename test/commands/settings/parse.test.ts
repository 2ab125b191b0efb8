import { describe, expect, it } from 'vitest';
import { useSettings } from './support.ts';

describe.each(['v0', 'v1'] as const)('settings on a server that speaks %s', (api) => {
  const { acs, file } = useSettings(api);

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
