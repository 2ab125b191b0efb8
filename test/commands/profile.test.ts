import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { useWorld } from '../support/use-world.ts';

const CLOSED = 'http://127.0.0.1:9';
const at = useWorld({
  target: 'none',
  clock: () => new TestClock({ movedBy: 'sleeps', limitMs: 60_000 }),
});
const store = () => path.join(at.configDir, 'profiles.json');
const text = () => readFileSync(store(), 'utf8');
const names = () => Object.keys((JSON.parse(text()) as { profiles: object }).profiles);

/** Stores the profiles work and lab, of which work is the default. */
async function two(): Promise<void> {
  await at.ends('login work --base-url https://work.example --no-check', {});
  const lab = ['--base-url', 'https://lab.example', '--key-command', 'pass show lab', '--no-check'];
  await at.ends(['login', 'lab', ...lab], {});
}

describe('profile use, rename and delete', () => {
  beforeEach(two);

  it('--dry-run changes nothing', async () => {
    const before = text();
    for (const line of ['use lab', 'rename work office', 'delete work'])
      await at.ends(`profile ${line} --dry-run --json`, { out: { dry_run: true, requests: [] } });
    const items = [{ id: 'work' }, { id: 'lab' }];
    await at.ends('profile delete work lab --dry-run --json', {
      out: { dry_run: true, items, failed: 0 },
    });
    expect(text()).toBe(before);
  });

  it('use reports whether the default changed', async () => {
    await at.ends('profile use lab --json', { out: { name: 'lab', default: true, changed: true } });
    await at.ends('profile use lab --json', { out: { changed: false } });
    await at.ends('profile use nobody', { code: 5 });
    await at.ends('profile use local --json', { out: { name: 'local', default: true } });
  });

  it('rename keeps the default and refuses a taken name', async () => {
    await at.ends('profile rename work office --json', {
      out: { name: 'office', default: true, changed: true },
    });
    await at.ends('profile rename lab office', { code: 6 });
    await at.ends('profile rename local mine', { code: 2 });
    await at.ends('profile rename nobody x', { code: 5 });
  });

  it('delete exits 2 without -y off a terminal, and clears the default', async () => {
    await at.ends('profile delete work', { code: 2 });
    expect(names()).toEqual(['work', 'lab']);
    const err = 'there is no default profile now';
    await at.ends('profile rm work -y --json', { out: { name: 'work', changed: true }, err });
    await at.ends('profile delete work -y', { code: 5 });
    await at.ends('profile delete work -y --ignore-not-found --json', { out: { changed: false } });
    await at.ends('profile delete local -y', { code: 2 });
  });

  it('delete takes several, also from stdin, and lists those that failed', async () => {
    await at.ends('profile delete work lab', { code: 2 });
    await at.ends('profile delete work nobody - -y --json', {
      stdin: 'lab\n',
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
      err: 'there is no default profile now',
    });
    expect(names()).toEqual([]);
    const items = [{ changed: false }, { changed: false }];
    await at.ends('profile delete work lab -y --ignore-not-found --json', {
      out: { items, failed: 0 },
    });
    await at.ends('profile delete work local -y', { code: 2 });
  });
});

describe('a corrupt store', () => {
  beforeEach(() => {
    mkdirSync(at.configDir);
    writeFileSync(store(), '{"profiles":');
  });

  it('is exit 3 with its path, and is not touched', async () => {
    for (const line of [
      'profile list',
      'login work --base-url https://a.example --no-check',
      'specs list',
    ])
      await at.ends(line, { code: 3, err: store() });
    expect(text()).toBe('{"profiles":');
  });

  it('does not stop a command that names its server', async () => {
    const { url, key } = at.world.service;
    await at.ends('specs list', { env: { ACS_BASE_URL: url, ACS_API_KEY: key } });
  });
});

describe('profile list', () => {
  beforeEach(two);

  at.rows({
    'prints rows in a pipe': {
      acs: 'profile list',
      out: /^work\thttps:\/\/work.example\ttrue\t\t\S+Z\nlab\thttps:\/\/lab.example\tfalse\tcommand\t\S+Z\nlocal\t\tfalse\tlocal\t\n$/,
    },
    'prints names with -q': { acs: 'profile ls -q', out: 'work\nlab\nlocal\n' },
    'prints the members of --fields': {
      acs: 'profile list --fields name,key_source',
      out: 'work\t\nlab\tcommand\nlocal\tlocal\n',
    },
    'prints JSON': {
      acs: 'profile list --json',
      out: {
        items: [
          { name: 'work' },
          { name: 'lab' },
          { name: 'local', base_url: null, default: false, key_source: 'local', created_at: null },
        ],
        has_more: false,
      },
    },
    'prints a line for each as ndjson': {
      acs: 'profile list --format ndjson',
      out: /^{"name":"work".*}\n{"name":"lab".*}\n{"name":"local".*}\n$/,
    },
    'prints a table on a terminal': {
      acs: 'profile list --no-color',
      columns: 80,
      out: [
        'NAME   BASE URL              DEFAULT  KEY SOURCE',
        'work   https://work.example  yes',
        'lab    https://lab.example   no       command',
        'local                        no       local',
        '',
      ].join('\n'),
    },
  });
});

describe('profile show', () => {
  it('probes the server, and prints the sources of URL and key', async () => {
    const { url, key } = at.world.service;
    await at.ends(`login work --base-url ${url} --api-key-file -`, { stdin: key });
    await at.ends('profile show --json', {
      env: { ACS_API_KEY: 'other' },
      out: {
        name: 'work',
        default: true,
        base_url_source: 'default',
        key_source: 'profile:work',
        dialect: 'v1',
        error: null,
      },
      hides: key,
    });
  });

  it('prints the stored members when the server cannot be reached', async () => {
    await at.ends(`login gone --base-url ${CLOSED} --no-check`, {});
    const out = { name: 'gone', base_url: CLOSED, dialect: null, error: { code: 'network' } };
    await at.ends('profile show gone --json', {
      out,
      err: /^\{"notice":".*","level":"warning"\}\n$/,
    });
  });

  at.rows({
    'exits 5 for an unknown profile, whatever server is active': {
      acs: 'profile show nobody',
      env: { ACS_BASE_URL: CLOSED },
      code: 5,
    },
  });
});

describe('whoami', () => {
  const local = () => ({ ACS_DATA_DIR: path.join(at.dir, 'unused-data') });
  const named = () => ({
    ...local(),
    ACS_BASE_URL: at.world.service.url,
    ACS_API_KEY: at.world.service.key,
  });

  it('prints the server, its dialect, and the sources of URL and key', async () => {
    const { out } = await at.ends('whoami --json', {
      env: named(),
      err: '',
      out: {
        profile: null,
        base_url: at.world.service.url,
        base_url_source: 'env:ACS_BASE_URL',
        key_source: 'env:ACS_API_KEY',
        dialect: 'v1',
        dialects: ['v1', 'v0'],
      },
      hides: at.world.service.key,
    });
    expect(Object.keys(JSON.parse(out) as object)).toEqual([
      ...[
        'profile',
        'base_url',
        'base_url_source',
        'key_source',
        'dialect',
        'dialects',
        'version',
        'flavour',
      ],
      ...['features', 'user', 'email', 'organization', 'unknown_features'],
    ]);
  });

  it('takes the key from a file or stdin and warns that ACS_API_KEY is not used', async () => {
    const { key } = at.world.service;
    await at.file('key', `${key}\n`);
    const err = 'ACS_API_KEY is set but not used: --api-key-file gives the key\n';
    await at.ends('whoami --api-key-file key --fields key_source', {
      env: named(),
      out: 'file\n',
      err,
    });
    await at.ends('whoami --api-key-file - --fields key_source', {
      env: named(),
      stdin: key,
      out: 'stdin\n',
    });
  });

  it('exits 4 for a wrong key, also when the probe of the server is cached', async () => {
    await at.ends('whoami', { env: named() });
    await at.ends('whoami', {
      env: { ...named(), ACS_API_KEY: 'wr0ng-key' },
      code: 4,
      hides: 'wr0ng-key',
    });
  });

  it('reports that the local service does not run, and does not start it', async () => {
    const err = 'error: the local service is not running\n';
    await at.ends('whoami --profile local', { env: local(), code: 10, out: '', err });
    expect(existsSync(local().ACS_DATA_DIR)).toBe(false);
  });

  it('uses the key of the local service for it', async () => {
    await at.ends('whoami --profile local --json', {
      env: { ACS_DATA_DIR: at.world.dataDir },
      out: {
        profile: 'local',
        base_url: at.world.service.url,
        key_source: 'local',
        flavour: 'local',
      },
    });
  });

  it.each([{}, { ACS_BASE_URL: '' }, { ACS_API_KEY: 'lost' }])(
    'exits 3 off a terminal with only %j',
    async (env) => {
      await at.ends('whoami', {
        env: { ...local(), ...env },
        code: 3,
        out: '',
        err: 'ACS_BASE_URL',
      });
      expect(existsSync(local().ACS_DATA_DIR)).toBe(false);
    },
  );

  at.rows({
    'exits 10 for a server that cannot be reached': {
      acs: 'whoami',
      env: { ACS_BASE_URL: CLOSED },
      code: 10,
    },
    'accepts one profile': { acs: 'whoami -p local,other', code: 3 },
  });
});
