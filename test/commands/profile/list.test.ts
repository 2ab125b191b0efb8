import { beforeEach, describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const bare = machine.bare;

describe('profile list', () => {
  beforeEach(async () => {
    await bare('work');
    await acs([
      'profile',
      'add',
      'lab',
      '--base-url',
      'https://lab.example',
      '--key-command',
      'pass show lab',
      '--no-check',
    ]);
  });

  it.each<[string, string[], string]>([
    [
      'tsv',
      [],
      'work\thttps://work.example\ttrue\t\t@\nlab\thttps://lab.example\tfalse\tcommand\t@\nlocal\t\tfalse\tlocal\t\n',
    ],
    ['id', ['-q'], 'work\nlab\nlocal\n'],
    ['fields', ['--fields', 'name,key_source'], 'work\t\nlab\tcommand\nlocal\tlocal\n'],
  ])('as %s', async (_, flags, expected) => {
    const { code, out, err } = await acs(['profile', 'list', ...flags]);
    expect({ code, err, out: out.replace(/\d{4}-\S+Z/g, '@') }).toEqual({ code: 0, err: '', out: expected });
  });

  it('as json and ndjson', async () => {
    const local = { name: 'local', base_url: null, default: false, key_source: 'local', created_at: null };
    const { items, has_more } = JSON.parse((await acs(['profile', 'ls', '--json'])).out) as {
      items: unknown[];
      has_more: boolean;
    };
    expect([items.length, items[2], has_more]).toEqual([3, local, false]);
    const lines = (await acs(['profile', 'list', '--format', 'ndjson'])).out.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { name: string }).name)).toEqual(['work', 'lab', 'local']);
  });

  it('on a terminal', async () => {
    const { out } = await acs(['profile', 'list'], { columns: 80, env: { NO_COLOR: '1' } });
    expect(out.split('\n').map((line) => line.trimEnd())).toEqual([
      'NAME   BASE URL              DEFAULT  KEY SOURCE',
      'work   https://work.example  yes',
      'lab    https://lab.example   no       command',
      'local                        no       local',
      '',
    ]);
  });
});
