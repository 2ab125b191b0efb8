import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestClock } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import { git, makeRepository } from '../conv/support.ts';

const NOON = Date.UTC(2026, 2, 1, 12);
const at = useV1({
  noun: 'sandbox',
  clock: () => new TestClock({ movedBy: 'sleeps', startMs: NOON }),
});
const [BUSY, IDLE, PAUSED] = ['busy-sandbox', 'idle-sandbox', 'paused-sandbox'];
const RUN = 'b'.repeat(32);
/** As genuine servers make them: only such an id is taken from a URL. */
const LONG = '3FMPmdQNoK7m6jOnQfBmeI';

beforeEach(() => {
  at.v1.addSandbox(PAUSED, { status: 'PAUSED', sandbox_spec_id: 'other' });
  at.v1.addSandbox(IDLE, { created_at: '2026-03-01T11:00:00Z' });
  at.v1.addSandbox(BUSY, { created_at: '2026-03-01T11:30:00Z' });
  at.v1.addConversation({
    id: RUN,
    sandbox_id: BUSY,
    selected_repository: 'acme/shop',
    updated_at: '2026-03-01T11:59:00Z',
  });
});

const ids = async (flags: string): Promise<string[]> =>
  (await at.ends(`list -q ${flags}`, {})).out.split('\n').slice(0, -1);

describe('sandbox list', () => {
  at.rows({
    'prints a table with short ids and ages on a terminal': {
      acs: 'list --no-color',
      columns: 100,
      out: [
        'ID        STATUS   SPEC ID  CREATED AT  LAST ACTIVE AT  REPOSITORIES',
        'busy-san  running  image    30m ago     1m ago          acme/shop',
        'idle-san  running  image    1h ago      1h ago',
        'paused-s  paused   other    2h ago      2h ago',
        '',
      ].join('\n'),
    },
    'prints whole values between tabs, without a header, in a pipe': {
      acs: 'list',
      out: [
        `${BUSY}\trunning\t\timage\t2026-03-01T11:30:00Z\t2026-03-01T11:59:00Z\t${RUN}\tacme/shop\n`,
        `${IDLE}\trunning\t\timage\t2026-03-01T11:00:00Z\t2026-03-01T11:00:00Z\t\t\n`,
        `${PAUSED}\tpaused\t\tother\t2026-03-01T10:00:00Z\t2026-03-01T10:00:00Z\t\t\n`,
      ].join(''),
    },
    'prints one object per line as ndjson': {
      acs: 'list --format ndjson',
      out: new RegExp(`^{"id":"${BUSY}".*}\n{"id":"${IDLE}".*}\n{"id":"${PAUSED}".*}\n$`),
    },
    'prints the members of --fields in their order': {
      acs: 'list --fields status,id -L 1',
      out: `running\t${BUSY}\n`,
    },
    'names the known members when one is unknown': {
      acs: 'list --fields nope',
      code: 2,
      err: 'last_active_at',
    },
    'prints that there are more than the limit': {
      acs: 'list -L 2 --json',
      out: { items: [{ id: BUSY }, { id: IDLE }], has_more: true },
      err: '{"notice":"more results are available: use --limit <n> or --all-pages"}\n',
    },
    'prints no notice when the limit is the number of records': { acs: 'list -L 3', err: '' },
    'exits 2 for --all-pages with a limit': { acs: 'list --all-pages -L 3', code: 2 },
    'exits 2 for a limit of 0': { acs: 'list -L 0', code: 2 },
    'exits 2 for an unknown status before any request': {
      acs: 'list --status asleep',
      code: 2,
      err: 'starting, running, paused, error, missing',
      requests: 0,
    },
    'prints an unknown status as unknown': {
      acs: 'list --fields status',
      server: {
        '/api/v1/sandboxes/search': {
          json: { items: [{ id: 'a', status: 'HIBERNATING' }], next_page_id: null },
        },
      },
      out: 'unknown(hibernating)\n',
    },
  });

  it('prints exactly the members of the contract as JSON, without the key of a session', async () => {
    const { items } = await at.json<{ items: object[] }>('list');
    expect(Object.keys(items[0] ?? {})).toEqual([
      ...[
        'id',
        'status',
        'status_detail',
        'spec_id',
        'created_at',
        'last_active_at',
        'conversation_ids',
      ],
      ...['repositories', 'urls'],
    ]);
    expect(items).toMatchObject([
      { id: BUSY, conversation_ids: [RUN] },
      { conversation_ids: [] },
      { status: 'paused' },
    ]);
  });

  it('requests one record more than the limit, and no further page', async () => {
    await at.ends('list -L 2 -q', { out: `${BUSY}\n${IDLE}\n` });
    const asked = at.server.asked.filter(({ path }) => path === '/api/v1/sandboxes/search');
    expect(asked.map(({ query }) => query.get('limit'))).toEqual(['3']);
  });

  it('prints an empty list and exits 0 under each of its names', async () => {
    at.v1.sandboxes?.clear();
    await at.ends('ls --json', { out: '{\n  "items": [],\n  "has_more": false\n}\n' });
    expect(await at.invoke({ args: ['sb', 'ls'] })).toMatchObject({ code: 0, out: '' });
  });

  it.each([
    ['--status paused -L 1', [PAUSED]],
    ['--status paused,running --spec image', [BUSY, IDLE]],
    ['--spec bubblewrap', []],
    ['--older-than 90m', [PAUSED]],
    ['--older-than 0s --status paused', [PAUSED]],
    ['--idle 0s', [IDLE, PAUSED]],
    ['--repo **', [BUSY]],
    ['--repo shop', [BUSY]],
    ['--repo */shop', [BUSY]],
    ['--repo docs', []],
  ])('%s selects %j, before the limit', async (flags, selected) => {
    expect(await ids(flags)).toEqual(selected);
  });

  it('--repo . selects by the repository of the checkout, and exits 2 outside of one', async () => {
    await at.ends('list --repo .', { code: 2 });
    const cwd = await makeRepository(path.join(at.dir, 'shop'));
    await git(cwd, 'remote', 'add', 'origin', 'https://github.com/acme/shop.git');
    await at.ends('list -q --repo .', { cwd, out: `${BUSY}\n` });
  });

  it('lists a record once that is on two pages', async () => {
    const record = (id: string) => ({ id, status: 'RUNNING', created_at: '2026-03-01T10:00:00Z' });
    at.script({
      '/api/v1/sandboxes/search': ({ query }) =>
        query.get('page_id') === '2'
          ? { json: { items: [record('b'), record('c')], next_page_id: null } }
          : { json: { items: [record('a'), record('b')], next_page_id: '2' } },
    });
    expect(await ids('')).toEqual(['a', 'b', 'c']);
  });

  it('exits 9 when a page names itself as the next', async () => {
    at.script({
      '/api/v1/sandboxes/search': ({ query }) => ({
        json: {
          items: [{ id: `s${query.get('page_id') ?? ''}`, status: 'RUNNING' }],
          next_page_id: '1',
        },
      }),
    });
    await at.ends('list --all-pages --json', { code: 9, out: '', err: '"code":"server"' });
    expect(
      at.server.lines().filter((line) => line.endsWith('/sandboxes/search')).length,
    ).toBeLessThan(10);
  });
});

describe('sandbox show', () => {
  it('takes a URL', async () => {
    at.v1.addSandbox(LONG);
    await at.ends(`show https://acs.example.org/sandboxes/${LONG}?tab=files --fields id`, {
      out: `${LONG}\n`,
    });
  });

  at.rows({
    'takes a unique prefix': { acs: 'show busy-sand --fields id', out: `${BUSY}\n` },
    'exits 2 for a prefix that is too short': { acs: 'show bus', code: 2 },
    'exits 2 for a malformed id': { acs: ['show', 'not/an id'], code: 2 },
    'exits 5 for an unknown id': { acs: 'show zzzzzzzz', code: 5 },
    'exits 5 for @last when nothing was started': { acs: 'show @last', code: 5 },
    'prints the key of the session with --show-secrets': {
      acs: `show ${BUSY} --show-secrets --json`,
      out: { session_api_key: 'sandbox-key-987654321' },
    },
    'prints it in no other way': {
      acs: `show ${BUSY} --json --debug`,
      hides: 'sandbox-key-987654321',
    },
  });
});

const ALL = [['list'], ['show', 'abcd1234'], ['start'], ['pause', '--all', '-y']];
it.each([...ALL, ['cp', 'abcd1234:a.txt', '-'], ['exec', 'abcd1234', '--', 'true']])(
  'sandbox %s exits 12, and exec 125, at a server of V0 alone, and sends nothing',
  async (...args) => {
    at.server.handler = ({ path }) =>
      path === '/api/options/config'
        ? { json: { APP_MODE: 'oss' } }
        : { status: 404, json: { detail: 'Not Found' } };
    const err = 'this server speaks V0 only, which has no sandboxes';
    const env = { ACS_CONFIG_DIR: `${at.dir}/v0` };
    await at.ends(args, { code: args[0] === 'exec' ? 125 : 12, err, env, writes: [] });
  },
);

at.rows({
  'sandbox list exits 4 when the key is refused': {
    acs: 'list',
    server: { '/api/v1/sandboxes/search': { status: 401, json: { detail: 'Unauthorized' } } },
    code: 4,
  },
  'sandbox list exits 7 when the server still answers 429 after three retries': {
    acs: 'list',
    server: {
      '/api/v1/sandboxes/search': { status: 429, json: {}, headers: { 'retry-after': '0' } },
    },
    code: 7,
  },
  'sandbox list exits 9 when the server answers HTML': {
    acs: 'list',
    server: { '/api/v1/sandboxes/search': { text: '<html></html>', type: 'text/html' } },
    code: 9,
  },
  'sandbox list exits 10 at a closed port': { acs: 'list --base-url http://127.0.0.1:1', code: 10 },
});
