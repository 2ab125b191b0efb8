import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../support/world.ts';

describe('specs', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
  });
  afterAll(() => world.close());

  const timeless = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');

  it('lists specs, the default first', async () => {
    const { code, out } = await world.acs('specs', 'list');
    expect({ code, rows: timeless(out) }).toEqual({
      code: 0,
      rows: [
        'process\ttrue\tnode,dist/worker.js\t.\tTIME\n',
        'bubblewrap\tfalse\tnode,dist/worker.js\t/workspace/project\tTIME\n',
        'bubblewrap-offline\tfalse\tnode,dist/worker.js\t/workspace/project\tTIME\n',
      ].join(''),
    });
    expect((await world.acs('specs', 'ls', '-q')).out).toBe('process\nbubblewrap\nbubblewrap-offline\n');
  });

  it('prints a table that fits the terminal', async () => {
    const { out } = await world.invoke({ args: ['specs', 'list', '--no-color'], columns: 100 });
    expect(
      out
        .replaceAll(/\b(?:now|\d+[smh] ago)\b *$/gm, 'now')
        .split('\n')
        .map((line) => line.trimEnd()),
    ).toEqual([
      'ID                  DEFAULT  WORKING DIR         CREATED AT',
      'process             yes      .                   now',
      'bubblewrap          no       /workspace/project  now',
      'bubblewrap-offline  no       /workspace/project  now',
      '',
    ]);
  });

  it('prints JSON without values of the environment', async () => {
    const list = JSON.parse((await world.acs('specs', 'list', '--json')).out) as { items: object[]; has_more: boolean };
    expect(list.has_more).toBe(false);
    for (const item of list.items) {
      expect(Object.keys(item)).toEqual(['id', 'default', 'command', 'working_dir', 'created_at']);
    }
    const lines = (await world.acs('specs', 'list', '--format', 'ndjson')).out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([
      'process',
      'bubblewrap',
      'bubblewrap-offline',
    ]);
  });

  it('show prints one spec, and exits 5 for an unknown one', async () => {
    const { code, out } = await world.acs('specs', 'show', 'process', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: 'process', default: true, working_dir: '.' });
    expect((await world.acs('specs', 'view', 'nowhere')).code).toBe(5);
  });
});
