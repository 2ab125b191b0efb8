import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createWorld, type Invocation, type World } from '../../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

let configDir = '';
let count = 0;
beforeEach(() => {
  count += 1;
  configDir = path.join(world.dir, `config-${count}`);
});

/** A machine where only the profiles of this test are configured. */
function acs(args: string[], rest: Partial<Invocation> = {}) {
  const env = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_CONFIG_DIR: configDir, ...rest.env };
  return world.invoke({ args, ...rest, env });
}

const store = () => path.join(configDir, 'profiles.json');
const stored = () =>
  JSON.parse(readFileSync(store(), 'utf8')) as {
    default: string | null;
    profiles: Record<string, Record<string, unknown>>;
  };
const bare = (name: string, url = `https://${name}.example`) =>
  acs(['profile', 'add', name, '--base-url', url, '--no-check']);

describe('profile add', () => {
  it('tries the key, stores it closed to others, and prints everything but the key', async () => {
    const args = ['profile', 'add', 'work', '--base-url', `${world.service.url}/`, '--api-key-file', '-', '--json'];
    const { code, out, err } = await acs(args, { stdin: `${world.service.key}\n` });
    expect(code).toBe(0);
    const record = JSON.parse(out) as Record<string, unknown>;
    expect(record).toEqual({
      name: 'work',
      base_url: world.service.url,
      default: true,
      key_source: 'profile:work',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      changed: true,
    });
    expect(err).toBe('{"notice":"\\"work\\" is the default profile"}\n');
    expect(out + err).not.toContain(world.service.key);
    expect(stored().profiles.work?.key).toBe(world.service.key);
    expect([(statSync(configDir).mode & 0o777).toString(8), (statSync(store()).mode & 0o777).toString(8)]).toEqual([
      '700',
      '600',
    ]);
    expect((await acs(['specs', 'list', '--json'])).code).toBe(0);
  });

  it('with a key that is refused is exit 4 and stores nothing', async () => {
    const { code, err } = await acs(
      ['profile', 'add', 'work', '--base-url', world.service.url, '--api-key-file', '-'],
      { stdin: 'wrong' },
    );
    expect(code).toBe(4);
    expect(err).toContain('the server refuses the key from --api-key-file -');
    expect(err).toContain('the URL comes from --base-url');
    expect(err).toContain('nothing was stored; --no-check stores without asking the server');
    expect(existsSync(store())).toBe(false);
  });

  it('without a key where one is needed is exit 4 and says how to give one', async () => {
    const { code, err } = await acs(['profile', 'add', 'work', '--base-url', world.service.url]);
    expect(code).toBe(4);
    expect(err).toContain('--api-key-file');
  });

  it('tries ACS_API_KEY when the profile has no key of its own, and does not store it', async () => {
    const { code } = await acs(['profile', 'add', 'work', '--base-url', world.service.url], {
      env: { ACS_API_KEY: world.service.key },
    });
    expect(code).toBe(0);
    expect(readFileSync(store(), 'utf8')).not.toContain(world.service.key);
  });

  it('of a server that does not answer is exit 10 and stores nothing; --no-check stores', async () => {
    const args = ['profile', 'add', 'work', '--base-url', 'http://127.0.0.1:9'];
    expect((await acs(args)).code).toBe(10);
    expect(existsSync(store())).toBe(false);
    expect((await acs([...args, '--no-check'])).code).toBe(0);
    expect(stored().default).toBe('work');
  });

  it('stores a command that prints the key, and runs it for each command', async () => {
    const keyFile = path.join(world.dir, 'key');
    writeFileSync(keyFile, `${world.service.key}\n`);
    const { code, out } = await acs([
      'profile',
      'add',
      'work',
      '--base-url',
      world.service.url,
      '--key-command',
      `cat ${keyFile}`,
      '--json',
    ]);
    expect([code, (JSON.parse(out) as { key_source: string }).key_source]).toEqual([0, 'command']);
    expect(stored().profiles.work).toMatchObject({ key_command: `cat ${keyFile}` });
    expect((await acs(['specs', 'list', '--json'])).code).toBe(0);
    writeFileSync(keyFile, '');
    const failed = await acs(['specs', 'list']);
    expect([failed.code, failed.err]).toEqual([
      3,
      expect.stringContaining('the key that the command printed is empty'),
    ]);
  });

  it.each<[string, string[]]>([
    ['without a URL', ['work']],
    ['with a URL that is none', ['work', '--base-url', 'acs.example.com']],
    ['with the name of the built-in profile', ['local', '--base-url', 'https://a.example']],
    ['with a name that cannot be one', ['a,b', '--base-url', 'https://a.example']],
    [
      'with two sources of a key',
      ['work', '--base-url', 'https://a.example', '--api-key-file', 'k', '--key-command', 'c'],
    ],
  ])('%s is exit 2', async (_, args) => {
    expect((await acs(['profile', 'add', ...args])).code).toBe(2);
    expect(existsSync(configDir)).toBe(false);
  });

  it('under a taken name is exit 6, and --replace replaces', async () => {
    await bare('work');
    expect((await bare('work', 'https://new.example')).code).toBe(6);
    const { code } = await acs([
      'profile',
      'add',
      'work',
      '--base-url',
      'https://new.example',
      '--no-check',
      '--replace',
    ]);
    expect([code, stored().profiles.work?.base_url]).toEqual([0, 'https://new.example']);
  });

  it('--dry-run tries and stores nothing', async () => {
    const args = ['profile', 'add', 'work', '--base-url', 'https://a.example', '--no-check', '--dry-run'];
    expect(await acs([...args, '--json'])).toMatchObject({ code: 0, out: '{"dry_run":true,"requests":[]}\n' });
    expect(existsSync(configDir)).toBe(false);
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

describe('profile show', () => {
  it('asks the server what it is, and says where URL and key came from', async () => {
    await acs(['profile', 'add', 'work', '--base-url', world.service.url, '--api-key-file', '-'], {
      stdin: world.service.key,
    });
    const { code, out } = await acs(['profile', 'show', '--json'], { env: { ACS_API_KEY: 'other' } });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      name: 'work',
      default: true,
      base_url_source: 'default',
      key_source: 'profile:work',
      dialect: 'v1',
      error: null,
    });
    expect(out).not.toContain(world.service.key);
  });

  it('shows what it knows when the server cannot be asked', async () => {
    await bare('gone', 'http://127.0.0.1:9');
    const { code, out, err } = await acs(['profile', 'show', 'gone', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      name: 'gone',
      base_url: 'http://127.0.0.1:9',
      dialect: null,
      error: { code: 'network' },
    });
    expect(err).toMatch(/^\{"notice":".*","level":"warning"\}\n$/);
  });

  it('of an unknown one is exit 5, whatever server is in force', async () => {
    expect((await acs(['profile', 'show', 'nobody'], { env: { ACS_BASE_URL: world.service.url } })).code).toBe(5);
  });
});

describe('profile use, rename, delete', () => {
  beforeEach(async () => {
    await bare('work');
    await bare('lab');
  });

  it('use says whether anything changed', async () => {
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

  it('delete needs -y off a terminal and leaves no default behind', async () => {
    expect((await acs(['profile', 'delete', 'work'])).code).toBe(2);
    expect(Object.keys(stored().profiles)).toEqual(['work', 'lab']);
    const { code, out, err } = await acs(['profile', 'rm', 'work', '-y', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: 'work', changed: true })]);
    expect(err).toContain('there is no default profile now');
    expect(stored()).toMatchObject({ default: null });
    expect((await acs(['profile', 'delete', 'work', '-y'])).code).toBe(5);
    expect(
      JSON.parse((await acs(['profile', 'delete', 'work', '-y', '--ignore-not-found', '--json'])).out),
    ).toMatchObject({ changed: false });
    expect((await acs(['profile', 'delete', 'local', '-y'])).code).toBe(2);
  });

  it('delete takes several, from stdin too, and says which it could not', async () => {
    expect((await acs(['profile', 'delete', 'work', 'lab'])).code).toBe(2);
    const { code, out, err } = await acs(['profile', 'delete', 'work', 'nobody', '-', '-y', '--json'], {
      stdin: 'lab\n',
    });
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({
      code: 1,
      out: {
        items: [
          { id: 'work', ok: true, changed: true, before: 'present', after: null },
          { id: 'nobody', ok: false, error: { code: 'not-found' } },
          { id: 'lab', ok: true, changed: true },
        ],
        matched: 3,
        failed: 1,
      },
    });
    expect(err).toContain('there is no default profile now');
    expect(Object.keys(stored().profiles)).toEqual([]);
    const again = await acs(['profile', 'delete', 'work', 'lab', '-y', '--ignore-not-found', '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ items: [{ changed: false }, { changed: false }], failed: 0 });
    expect((await acs(['profile', 'delete', 'work', 'local', '-y'])).code).toBe(2);
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
});

describe('a corrupt store', () => {
  it('is exit 3 with its path, and is not touched', async () => {
    mkdirSync(configDir);
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
    mkdirSync(configDir);
    writeFileSync(store(), '{"profiles":');
    const env = { ACS_BASE_URL: world.service.url, ACS_API_KEY: world.service.key };
    expect((await acs(['specs', 'list'], { env })).code).toBe(0);
  });
});
