import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordingProxy, type RecordingProxy } from '../../support/recording-proxy.ts';
import { createWorld, type Ended, type World } from '../../support/world.ts';
import { startRun, startSandbox, type SandboxJson } from './support.ts';
import type { BulkResult } from '../../../src/output/options.ts';

const one = ({ out }: Ended): SandboxJson => JSON.parse(out) as SandboxJson;
const many = ({ out }: Ended): BulkResult => JSON.parse(out) as BulkResult;

describe('changing sandboxes', () => {
  let world: World;
  let proxy: RecordingProxy;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec: 'process' });
    proxy = await recordingProxy(world.service.url);
  });
  afterAll(async () => {
    await proxy.close();
    await world.close();
  });
  beforeEach(async () => {
    await world.acs('sandbox', 'delete', '--all', '-y', '--force');
    proxy.requests.length = 0;
  });

  const acs = (...args: string[]): Promise<Ended> =>
    world.invoke({ args: ['sandbox', ...args], env: { ACS_BASE_URL: proxy.url } });
  const writes = (): string[] => proxy.writes().map(({ method, path }) => `${method} ${path}`);
  const status = async (id: string): Promise<string> => one(await world.acs('sandbox', 'show', id, '--json')).status;

  describe('one, by its id', () => {
    it('creates one from a spec and waits until it runs', async () => {
      const ended = await acs('start', '--spec', 'process', '--json');
      expect(ended.code).toBe(0);
      expect(one(ended)).toMatchObject({ status: 'running', changed: true });
      expect(writes()).toEqual(['POST /api/v1/sandboxes?sandbox_spec_id=process']);
      expect(proxy.writes()[0]?.body).toBeNull();
    });

    it('prints the id at once with --no-wait', async () => {
      const { code, out } = await acs('start', '--no-wait', '-q');
      expect(code).toBe(0);
      expect((await acs('wait', out.trim(), '--json')).code).toBe(0);
    });

    it('ends with 5 for a spec that does not exist, and sends nothing', async () => {
      expect((await acs('start', '--spec', 'nowhere')).code).toBe(5);
      expect(writes()).toEqual([]);
    });

    it('pauses and resumes, and does nothing the second time', async () => {
      const id = await startSandbox(world);
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: true });
      expect(one(await acs('pause', id, '--json'))).toMatchObject({ id, status: 'paused', changed: false });
      expect(one(await acs('resume', id, '--json'))).toMatchObject({ id, status: 'running', changed: true });
      expect(one(await acs('start', id, '--json'))).toMatchObject({ id, status: 'running', changed: false });
      expect(writes()).toEqual([`POST /api/v1/sandboxes/${id}/pause`, `POST /api/v1/sandboxes/${id}/resume`]);
    });

    it('resumes with start and an id', async () => {
      const id = await startSandbox(world);
      await acs('pause', id);
      const started = one(await acs('start', id, '--json'));
      expect(started).toMatchObject({ status: 'running', changed: true });
      const other = started.spec_id === 'process' ? 'bubblewrap' : 'process';
      expect(one(await acs('start', id, '--spec', started.spec_id, '--json'))).toMatchObject({
        changed: false,
      });
      expect((await acs('start', id, '--spec', other)).code).toBe(6);
    });

    it('deletes with the same id in path and query', async () => {
      const id = await startSandbox(world);
      const ended = await acs('delete', id, '-y', '--json');
      expect(ended.code).toBe(0);
      expect(one(ended)).toMatchObject({ id, status: 'missing', changed: true });
      expect(ended.err).toContain(`sandbox ${id} (running), conversations: none`);
      expect(writes()).toEqual([`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]);
      expect((await acs('delete', id, '-y')).code).toBe(5);
      expect(one(await acs('delete', id, '-y', '--ignore-not-found', '--json'))).toMatchObject({ id, changed: false });
    });

    it('needs a yes for a delete off a terminal', async () => {
      const id = await startSandbox(world);
      const { code, err } = await acs('delete', id);
      expect(code).toBe(2);
      expect(err).toContain('add -y');
      expect(writes()).toEqual([]);
    });

    it('asks for a delete on a terminal', async () => {
      const id = await startSandbox(world);
      const answer = (stdin: string) => world.invoke({ args: ['sandbox', 'delete', id], columns: 100, stdin });
      expect(await answer('n\n')).toMatchObject({ code: 2, out: '' });
      expect(await status(id)).toBe('running');
      expect((await answer('y\n')).code).toBe(0);
      expect((await world.acs('sandbox', 'show', id)).code).toBe(5);
    });

    it('takes a unique prefix and a URL, and refuses an ambiguous or malformed one', async () => {
      const id = await startSandbox(world);
      expect(one(await acs('show', id.slice(0, 8), '--json')).id).toBe(id);
      expect(one(await acs('show', `https://acs.example.org/sandboxes/${id}?tab=files`, '--json')).id).toBe(id);
      expect((await acs('show', id.slice(0, 3))).code).toBe(2);
      expect((await acs('show', 'not/an id')).code).toBe(2);
      expect((await acs('show', 'zzzzzzzz')).code).toBe(5);
      expect((await acs('show', '@last')).code).toBe(5);
    });

    it('shows a session key with --show-secrets and nowhere else', async () => {
      const id = await startSandbox(world);
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

    it('prints what a dry run would send, and sends nothing', async () => {
      const id = await startSandbox(world);
      for (const [args, expected] of [
        [['pause', id], [`POST /api/v1/sandboxes/${id}/pause`]],
        [['delete', id], [`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]],
        [['resume', id], []],
        [['delete', '--all'], [`DELETE /api/v1/sandboxes/${id}?sandbox_id=${id}`]],
      ] as const) {
        const { code, out } = await acs(...args, '--dry-run', '--json');
        const plan = JSON.parse(out) as { dry_run: boolean; requests: { method: string; url: string }[] };
        const requests = plan.requests.map(({ method, url }) => `${method} ${url.slice(proxy.url.length)}`);
        expect({ code, dry_run: plan.dry_run, requests }).toEqual({ code: 0, dry_run: true, requests: expected });
      }
      expect(writes()).toEqual([]);
    });
  });

  describe('waiting', () => {
    it('ends at once when the sandbox is there already', async () => {
      const id = await startSandbox(world);
      expect(one(await acs('wait', id, '--json'))).toMatchObject({ id, status: 'running' });
      expect((await acs('wait', id, '--for', 'paused,running')).code).toBe(0);
    });

    it('ends when the state comes', async () => {
      const id = await startSandbox(world);
      const waiting = acs('wait', id, '--for', 'paused', '--json');
      await world.acs('sandbox', 'pause', id);
      expect(one(await waiting)).toMatchObject({ status: 'paused' });
    });

    it('ends with 124 after its deadline, naming the last state', async () => {
      const id = await startSandbox(world);
      for (const flag of ['--wait-timeout', '--timeout']) {
        const { code, err } = await acs('wait', id, '--for', 'paused', flag, '200ms');
        expect(code).toBe(124);
        expect(err).toContain(`sandbox ${id} is still running after 200ms`);
      }
    });

    it('ends with 5 when the sandbox is deleted meanwhile, unless that was waited for', async () => {
      const id = await startSandbox(world);
      const waiting = [acs('wait', id, '--for', 'paused'), acs('wait', id, '--for', 'missing')];
      await Promise.all([world.acs('sandbox', 'delete', id, '-y'), ...waiting]);
      expect((await Promise.all(waiting)).map(({ code }) => code)).toEqual([5, 0]);
      expect((await acs('wait', id, '--for', 'missing')).code).toBe(0);
      expect((await acs('wait', id, '--for', 'asleep')).code).toBe(2);
    });

    it('ends with 130 on a signal, and the sandbox stays', async () => {
      const id = await startSandbox(world);
      const { AppError } = await import('../../../src/errors.ts');
      const controller = new AbortController();
      const waiting = world.invoke({ args: ['sandbox', 'wait', id, '--for', 'paused'], signal: controller.signal });
      controller.abort(new AppError('interrupted', 'interrupted'));
      expect((await waiting).code).toBe(130);
      expect(await status(id)).toBe('running');
    });
  });

  describe('several', () => {
    it('waits for each of several', async () => {
      const [a, b] = [await startSandbox(world), await startSandbox(world)];
      await acs('pause', b);
      const ended = await acs('wait', a, b, '--json');
      expect(many(ended).items.map(({ id, after }) => [id, after])).toEqual([
        [a, 'running'],
        [b, 'paused'],
      ]);
      const late = await acs('wait', a, b, 'nowhere', '--for', 'paused', '--wait-timeout', '100ms', '--json');
      expect(late.code).toBe(124);
      expect(many(late).items.map(({ error }) => error?.code)).toEqual(['timeout', undefined, 'not-found']);
      expect((await acs('wait', a, 'nowhere', '--json')).code).toBe(5);
    });

    it('goes on when one of several servers cannot be reached', async () => {
      const id = await startSandbox(world);
      for (const [name, url] of [
        ['here', world.service.url],
        ['closed', 'http://127.0.0.1:1'],
      ] as const) {
        const add = ['profile', 'add', name, '--base-url', url, '--api-key-file', '-', '--no-check'];
        expect((await world.invoke({ args: add, stdin: world.service.key })).code).toBe(0);
      }
      const env = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined };
      const several = (...args: string[]) => world.invoke({ args: ['sandbox', ...args, '-p', 'here,closed'], env });
      const ended = await several('pause', '--all', '-y', '--json');
      expect(ended.code).toBe(1);
      expect(many(ended).items).toMatchObject([
        { id, profile: 'here', ok: true, after: 'paused' },
        { id: null, profile: 'closed', ok: false, error: { code: 'network' } },
      ]);
      expect(JSON.parse(ended.out)).toMatchObject({ matched: 1, failed: 1 });
      expect(ended.err).toContain('closed: ');
      expect(ended.err).not.toContain('of 1 could not');
      const named = await several('resume', id, '--json');
      expect(many(named).items[0]).toMatchObject({ id, profile: 'here', ok: true, after: 'running' });
      expect((await several('show', id)).code).toBe(2);
    });

    it('reports what was not tried when a signal comes', async () => {
      const id = await startSandbox(world);
      const { AppError } = await import('../../../src/errors.ts');
      const controller = new AbortController();
      const ended = world.invoke({
        args: ['sandbox', 'wait', id, id.slice(0, 12), '--for', 'paused', '--json'],
        signal: controller.signal,
      });
      controller.abort(new AppError('interrupted', 'interrupted', { exitCode: 143 }));
      expect((await ended).code).toBe(143);
    });

    it('changes each id once and ends with 1 when one failed', async () => {
      const [a, b] = [await startSandbox(world), await startSandbox(world)];
      await acs('pause', b);
      const ended = await acs('pause', a, b, a, 'zzzzzzzz', '--json');
      expect(ended.code).toBe(1);
      expect(many(ended)).toEqual({
        items: [
          { id: a, ok: true, changed: true, before: 'running', after: 'paused', error: null },
          { id: b, ok: true, changed: false, before: 'paused', after: 'paused', error: null },
          {
            id: 'zzzzzzzz',
            ok: false,
            changed: false,
            before: null,
            after: null,
            error: expect.objectContaining({ code: 'not-found' }),
          },
        ],
        matched: 3,
        failed: 1,
      });
      expect(ended.err).toContain('1 of 3 could not be paused');
    });

    it('reads ids from stdin', async () => {
      const [a, b] = [await startSandbox(world), await startSandbox(world)];
      const pause = (stdin: string, ...args: string[]) =>
        world.invoke({ args: ['sandbox', 'pause', ...args, '--json'], stdin });
      expect(many(await pause(`${a}\n${b}\n`, '-')).items.map(({ id, after }) => `${id} ${after}`)).toEqual([
        `${a} paused`,
        `${b} paused`,
      ]);
      expect(await pause('', '-')).toMatchObject({ code: 0 });
      expect((await pause('', '-', '-')).code).toBe(2);
    });

    it('selects over all pages', async () => {
      const [a, b] = [await startSandbox(world), await startSandbox(world)];
      await acs('pause', a);
      const ended = await acs('delete', '--status', 'paused', '-y', '--json');
      expect(ended.code).toBe(0);
      expect(many(ended)).toEqual({
        items: [{ id: a, ok: true, changed: true, before: 'paused', after: null, error: null }],
        matched: 1,
        failed: 0,
      });
      expect(await status(b)).toBe('running');
    });

    it('ends well when nothing is matched, without a question', async () => {
      const ended = await acs('pause', '--status', 'error', '--json');
      expect({ code: ended.code, result: many(ended) }).toEqual({
        code: 0,
        result: { items: [], matched: 0, failed: 0 },
      });
    });

    it('needs a yes for any change by selector', async () => {
      await startSandbox(world);
      expect((await acs('pause', '--all')).code).toBe(2);
      expect((await acs('resume', '--status', 'running')).code).toBe(2);
      expect(writes()).toEqual([]);
      expect((await acs('pause', '--all', '-y')).code).toBe(0);
    });

    it('needs an id or a selector, and takes not both', async () => {
      for (const args of [
        ['pause'],
        ['delete', '-y'],
        ['pause', 'abcd', '--all'],
        ['delete', 'abcd', '--idle', '1h', '-y'],
      ]) {
        expect((await acs(...args)).code).toBe(2);
      }
      expect(proxy.requests).toEqual([]);
    });

    it('takes no limit for a wait that it is told not to make', async () => {
      for (const args of [
        ['start'],
        ['start', 'abcd'],
        ['pause', 'abcd'],
        ['resume', '--all'],
        ['delete', 'abcd', '-y'],
      ]) {
        for (const limit of ['--wait-timeout', '--timeout']) {
          const { code, err } = await acs(...args, '--no-wait', limit, '1m');
          expect({ code, err }).toEqual({
            code: 2,
            err: expect.stringContaining(`--no-wait and ${limit} exclude`) as string,
          });
        }
      }
      expect(proxy.requests).toEqual([]);
    });
  });

  describe('with a run in progress', () => {
    it('names the conversation and is left alone, unless --force', async () => {
      const busy = await startRun(world);
      const idle = await startSandbox(world);
      const refused = await acs('delete', busy.sandboxId, '-y', '--json');
      expect(refused.code).toBe(6);
      expect(refused.err).toContain(`conversations: ${busy.conversationId}`);
      const bulk = await acs('delete', '--all', '-y', '--json');
      expect(bulk.code).toBe(1);
      expect(many(bulk).items.map(({ id, ok, error }) => [id, ok, error?.code])).toEqual([
        [idle, true, undefined],
        [busy.sandboxId, false, 'conflict'],
      ]);
      expect((await acs('delete', busy.sandboxId, '-y', '--force')).code).toBe(0);
    });

    it('is paused when it is named, but not by a selector', async () => {
      const busy = await startRun(world);
      const bulk = await acs('pause', '--status', 'running', '-y', '--json');
      expect({ code: bulk.code, error: many(bulk).items[0]?.error?.code }).toEqual({ code: 1, error: 'conflict' });
      expect((await acs('pause', busy.sandboxId)).code).toBe(0);
      await acs('resume', busy.sandboxId);
      await busy.finish();
      expect((await acs('delete', busy.sandboxId, '-y')).code).toBe(0);
    });
  });
});
