import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const store = machine.store;
const bare = machine.bare;

describe('profile use, rename, delete', () => {
  beforeEach(async () => {
    await bare('work');
    await bare('lab');
  });

  it('--dry-run changes nothing', async () => {
    const before = readFileSync(store(), 'utf8');
    for (const args of [
      ['delete', 'work', 'lab'],
      ['use', 'lab'],
      ['rename', 'work', 'office'],
      ['delete', 'work'],
    ]) {
      const { code, out } = await acs(['profile', ...args, '--dry-run', '--json']);
      expect({ code, out: JSON.parse(out) as unknown }).toEqual({ code: 0, out: { dry_run: true, requests: [] } });
    }
    expect(readFileSync(store(), 'utf8')).toBe(before);
  });

  it('use reports whether the default changed', async () => {
    expect(JSON.parse((await acs(['profile', 'use', 'lab', '--json'])).out)).toMatchObject({
      name: 'lab',
      default: true,
      changed: true,
    });
    expect(JSON.parse((await acs(['profile', 'use', 'lab', '--json'])).out)).toMatchObject({ changed: false });
    expect((await acs(['profile', 'use', 'nobody'])).code).toBe(5);
    expect(JSON.parse((await acs(['profile', 'use', 'local', '--json'])).out)).toMatchObject({
      name: 'local',
      default: true,
    });
  });

  it('rename keeps the default and refuses a taken name', async () => {
    expect(JSON.parse((await acs(['profile', 'rename', 'work', 'office', '--json'])).out)).toMatchObject({
      name: 'office',
      default: true,
      changed: true,
    });
    expect((await acs(['profile', 'rename', 'lab', 'office'])).code).toBe(6);
    expect((await acs(['profile', 'rename', 'local', 'mine'])).code).toBe(2);
    expect((await acs(['profile', 'rename', 'nobody', 'x'])).code).toBe(5);
  });
});

describe('a corrupt store', () => {
  it('is exit 3 with its path, and is not touched', async () => {
    mkdirSync(machine.configDir);
    writeFileSync(store(), '{"profiles":');
    for (const args of [
      ['profile', 'list'],
      ['profile', 'add', 'work', '--base-url', 'https://a.example', '--no-check'],
      ['specs', 'list'],
    ]) {
      const { code, err } = await acs(args);
      expect({ code, err }).toEqual({ code: 3, err: expect.stringContaining(store()) as string });
    }
    expect(readFileSync(store(), 'utf8')).toBe('{"profiles":');
  });

  it('does not stop a command that names its server', async () => {
    mkdirSync(machine.configDir);
    writeFileSync(store(), '{"profiles":');
    const env = { ACS_BASE_URL: machine.world.service.url, ACS_API_KEY: machine.world.service.key };
    expect((await acs(['specs', 'list'], { env })).code).toBe(0);
  });
});

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
