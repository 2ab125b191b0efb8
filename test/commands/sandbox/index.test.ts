import { execFileSync } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Busy, one, startRun, startSandbox, useSandboxWorld } from './support.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';

describe('sandbox list', () => {
  let world: World;
  let paused: string;
  let running: string;
  let busy: Busy;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
    paused = await startSandbox(world);
    await world.acs('sandbox', 'pause', paused);
    running = await startSandbox(world);
    busy = await startRun(world);
  });
  afterAll(() => world.close());

  const ids = async (...args: string[]): Promise<string[]> => {
    const { code, out } = await world.acs('sandbox', 'list', '-q', ...args);
    expect(code).toBe(0);
    return out.split('\n').filter((line) => line !== '');
  };
  /** Times as a word of their own, so that rows can be compared. */
  const timeless = ({ out }: Ended): string => out.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');

  it('prints a fitted table with short ids on a terminal', async () => {
    const { code, out } = await world.invoke({ args: ['sandbox', 'list', '--no-color'], columns: 100 });
    const rows = out
      .replaceAll(/\b(?:now|\d+[smh] ago)\b/g, 'now')
      .split('\n')
      .map((line) => line.replaceAll(/ {2,}/g, '  ').trimEnd());
    const [a, b, c] = [busy.sandboxId, running, paused].map((id) => id.slice(0, rows[1]?.indexOf(' ')));
    expect({ code, rows }).toEqual({
      code: 0,
      rows: [
        'ID  STATUS  SPEC ID  CREATED AT  LAST ACTIVE AT  REPOSITORIES',
        `${a}  running  process  now  now`,
        `${b}  running  process  now  now`,
        `${c}  paused  process  now  now`,
        '',
      ],
    });
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('prints tab-separated rows without a header in a pipe', async () => {
    expect(timeless(await world.acs('sandbox', 'list'))).toBe(
      [
        `${busy.sandboxId}\trunning\t\tprocess\tTIME\tTIME\t${busy.conversationId}\t\n`,
        `${running}\trunning\t\tprocess\tTIME\tTIME\t\t\n`,
        `${paused}\tpaused\t\tprocess\tTIME\tTIME\t\t\n`,
      ].join(''),
    );
  });

  it('prints one JSON document, with exactly the fields of the contract', async () => {
    const { out } = await world.acs('sandbox', 'list', '--json');
    const list = JSON.parse(out) as { items: Record<string, unknown>[]; has_more: boolean };
    expect(list.has_more).toBe(false);
    expect(
      list.items.map(({ id, status, spec_id, conversation_ids }) => ({ id, status, spec_id, conversation_ids })),
    ).toEqual([
      { id: busy.sandboxId, status: 'running', spec_id: 'process', conversation_ids: [busy.conversationId] },
      { id: running, status: 'running', spec_id: 'process', conversation_ids: [] },
      { id: paused, status: 'paused', spec_id: 'process', conversation_ids: [] },
    ]);
    expect(Object.keys(list.items[0] ?? {})).toEqual([
      'id',
      'status',
      'status_detail',
      'spec_id',
      'created_at',
      'last_active_at',
      'conversation_ids',
      'repositories',
      'urls',
    ]);
    expect(out).not.toContain('session_api_key');
  });

  it('prints one object per line as ndjson', async () => {
    const { out } = await world.acs('sandbox', 'list', '--format', 'ndjson');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual([busy.sandboxId, running, paused]);
  });

  it('-q prints only full ids', async () => {
    expect(await ids()).toEqual([busy.sandboxId, running, paused]);
  });

  it('--fields selects and orders members, and an unknown one exits 2 with the known ones', async () => {
    expect((await world.acs('sandbox', 'list', '--fields', 'status,id', '-L', '1')).out).toBe(
      `running\t${busy.sandboxId}\n`,
    );
    const { code, err } = await world.acs('sandbox', 'list', '--fields', 'nope');
    expect(code).toBe(2);
    expect(err).toContain('last_active_at');
  });

  it('reports that there are more than the limit', async () => {
    const { code, out, err } = await world.acs('sandbox', 'list', '-L', '2', '--json');
    const list = JSON.parse(out) as { items: unknown[]; has_more: boolean };
    expect({ code, count: list.items.length, has_more: list.has_more }).toEqual({ code: 0, count: 2, has_more: true });
    expect(err).toBe('{"notice":"more results are available: use --limit <n> or --all-pages"}\n');
    expect((await world.acs('sandbox', 'list', '-L', '3', '--json')).err).toBe('');
    expect((await world.acs('sandbox', 'list', '--all-pages', '--json')).err).toBe('');
    expect((await world.acs('sandbox', 'list', '--all-pages', '-L', '3')).code).toBe(2);
    expect((await world.acs('sandbox', 'list', '-L', '0')).code).toBe(2);
  });

  it('applies the limit after the selectors', async () => {
    expect(await ids('--status', 'paused', '-L', '1')).toEqual([paused]);
    expect(await ids('--not-status', 'paused')).toEqual([busy.sandboxId, running]);
    expect(await ids('--status', 'paused,running', '--spec', 'process')).toHaveLength(3);
    expect(await ids('--not-spec', 'process')).toEqual([]);
    expect(await ids('--older-than', '1h')).toEqual([]);
    expect(await ids('--not-older-than', '1h', '--status', 'paused')).toEqual([paused]);
    expect(await ids('--repo', '**')).toEqual([]);
    expect(await ids('--not-repo', '**')).toHaveLength(3);
  });

  it('does not select a sandbox with a run in progress as idle', async () => {
    expect(await ids('--idle', '0s')).toEqual([running, paused]);
    expect(await ids('--not-idle', '0s')).toEqual([busy.sandboxId]);
  });

  it('exits 2 for an unknown status before any request', async () => {
    const { code, err } = await world.acs('sandbox', 'list', '--status', 'asleep', '--base-url', 'http://127.0.0.1:1');
    expect(code).toBe(2);
    expect(err).toContain('starting, running, paused, error, missing');
  });

  it('reads several profiles and continues when one cannot be reached', async () => {
    const add = async (name: string, url: string): Promise<void> => {
      const { code, err } = await world.invoke({
        args: ['profile', 'add', name, '--base-url', url, '--api-key-file', '-', '--no-check'],
        stdin: world.service.key,
      });
      expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    };
    await add('here', world.service.url);
    await add('closed', 'http://127.0.0.1:1');
    const env = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined };
    const list = (...args: string[]) => world.invoke({ args: ['sandbox', 'list', '-p', 'here,closed', ...args], env });
    const { code, out } = await list('--json', '--status', 'paused');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      items: [
        { id: paused, profile: 'here' },
        { profile: 'closed', error: { code: 'network' } },
      ],
      has_more: false,
    });
    expect(await list('-q')).toMatchObject({ code: 1, out: `${[busy.sandboxId, running, paused].join('\n')}\n` });
    expect((await list('-L', '1')).out.split('\n')[0]).toMatch(/\there\t$/);
  });
});

describe('sandbox list by repository', () => {
  it('selects sandboxes with a conversation on a matching repository', async () => {
    const world = await createWorld({ api: 'v1', spec: 'process' });
    try {
      const repository = path.join(world.dir, 'shop');
      const git = (...args: string[]) =>
        execFileSync('git', ['-C', repository, ...args], { env: { ...process.env, HOME: world.home } });
      await mkdir(repository);
      git('init', '-q', '-b', 'main');
      git('-c', 'user.name=A', '-c', 'user.email=a@example.org', 'commit', '-q', '--allow-empty', '-m', 'Begin');
      const { sandboxId, finish } = await startRun(world, repository);
      await startSandbox(world);
      const list = async (...args: string[]) => (await world.acs('sandbox', 'list', '-q', ...args)).out;
      expect(await list('--repo', '**/shop')).toBe(`${sandboxId}\n`);
      expect(await list('--repo', '**/docs')).toBe('');
      expect(await list('--not-repo', '**/shop')).not.toContain(sandboxId);
      await finish();
    } finally {
      await world.close();
    }
  });
});

describe('sandbox list with nothing to show', () => {
  it('prints an empty list and exits 0', async () => {
    const world = await createWorld({ api: 'v1', spec: 'process' });
    try {
      expect(await world.acs('sandbox', 'ls', '--json')).toMatchObject({
        code: 0,
        out: '{\n  "items": [],\n  "has_more": false\n}\n',
      });
      expect(await world.acs('sb', 'ls')).toMatchObject({ code: 0, out: '' });
    } finally {
      await world.close();
    }
  });
});

describe('sandbox changes', () => {
  const at = useSandboxWorld();
  const acs = at.acs;

  describe('of one sandbox', () => {
    it('show prints the session key only with --show-secrets', async () => {
      const id = await startSandbox(at.world);
      const key = one(await acs('show', id, '--show-secrets', '--json')).session_api_key ?? '';
      expect(key.length).toBeGreaterThan(20);
      for (const args of [
        ['show', id],
        ['list', '--json'],
        ['show', id, '--json', '--debug'],
        ['pause', id, '--debug', '--json'],
      ]) {
        const { out, err } = await acs(...args);
        expect(out + err).not.toContain(key);
      }
    });

    it('pause and resume change the status once, and report no change the second time', async () => {
      const id = await startSandbox(at.world);
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: true });
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: false });
      expect(one(await acs('resume', id, '--json'))).toMatchObject({ id, status: 'running', changed: true });
      expect(one(await acs('start', id, '--json'))).toMatchObject({ id, status: 'running', changed: false });
      expect(at.writes()).toEqual([`POST /api/v1/sandboxes/${id}/pause`, `POST /api/v1/sandboxes/${id}/resume`]);
    });
  });
});
