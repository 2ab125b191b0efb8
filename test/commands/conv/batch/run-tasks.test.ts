import { describe, expect, it } from 'vitest';
import { errorOf, finish, jsonLines, replayFile, run } from '../support.ts';
import { demo, isStart, results, useBatchWorld } from './batch-world.ts';

const at = useBatchWorld();
/** The start of a conversation there fails: nothing listens. */
const NOWHERE = 'http://127.0.0.1:1/owner/name.git';
const isPause = (route: string) => /\/sandboxes\/[^/]+\/pause$/.test(route);

/** The server refuses a start while one conversation runs; a pause of its sandbox makes room. */
function limitToOne(refusal: { status: number; body: unknown }): { refused: number } {
  const seen = { refused: 0 };
  let running = 0;
  at.proxy.answer = (request) => {
    if (isPause(request.path)) running -= 1;
    if (!isStart(request)) return null;
    if (running === 0) {
      running += 1;
      return null;
    }
    seen.refused += 1;
    return refusal;
  };
  return seen;
}

describe('a start that the server refuses because too many run', () => {
  it.each([
    ['409', { status: 409, body: { detail: 'Too many conversations are running' } }],
    ['429', { status: 429, body: { error: 'Too many conversations are running' } }],
  ])('with %s is sent again when a run of the batch has ended', async (_, refusal) => {
    const seen = limitToOne(refusal);
    const ended = await at.batch([demo('a'), demo('b'), demo('c')]);

    expect(ended.code, ended.err).toBe(0);
    expect(seen.refused).toBeGreaterThan(0);
    expect(results(ended).map(({ key, exit_code, attempts }) => [key, exit_code, attempts])).toEqual([
      ['a', 0, 1],
      ['b', 0, 1],
      ['c', 0, 1],
    ]);
  });
});

describe('the tasks of a batch', () => {
  it('run no more at once than --concurrency says', async () => {
    const ended = await at.batch([demo('a'), demo('b'), demo('c')], ['--concurrency', '1']);

    expect(ended.code, ended.err).toBe(0);
    const states = (await at.journal()).map(({ key, state }) => `${key as string} ${(state as string) ?? 'ended'}`);
    expect(states).toEqual(['a', 'b', 'c'].flatMap((key) => [`${key} starting`, `${key} started`, `${key} ended`]));
  });

  it('keep the sandbox of the last run, and pause those of runs that make room for a start', async () => {
    await at.batch([demo('a'), demo('b')], ['--concurrency', '1']);

    const writes = at.proxy
      .writes()
      .map((request) => (isStart(request) ? 'start' : isPause(request.path) ? 'pause' : ''));
    expect(writes.filter((write) => write !== '')).toEqual(['start', 'pause', 'start']);
  });

  it('are not started any more when the server refuses the key, and the next run starts them', async () => {
    at.proxy.answer = (request) => (isStart(request) ? { status: 401, body: { detail: 'no' } } : null);
    const tasks = [demo('a'), demo('b'), demo('c')];
    const ended = await at.batch(tasks, ['--concurrency', '1']);
    expect(ended.code).toBe(1);
    expect(at.starts()).toEqual(['a']);
    expect(results(ended)).toMatchObject([{ key: 'a', id: null, status: 'not-started', exit_code: 4, attempts: 0 }]);
    expect(ended.err).toContain('3 tasks were not started');

    at.proxy.answer = () => null;
    at.proxy.requests.length = 0;
    const again = await at.batch(tasks);
    expect(again.code, again.err).toBe(0);
    expect(at.starts().toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('are all named when the server refuses the key while they run', async () => {
    const replay = await replayFile(at.world, 'held.json', [run('sleep 600'), finish('done')]);
    let isRefused = false;
    at.proxy.answer = () => (isRefused ? { status: 401, body: { detail: 'no' } } : null);
    const onErr = (text: string) => (isRefused ||= text.includes('a: conversation'));
    const tasks = [demo('a', { replay }), demo('b'), demo('c')];
    const ended = await at.batch(tasks, ['--concurrency', '1', '--json'], { onErr });

    expect(ended.code).toBe(1);
    const { unknown, running, not_started: unstarted, message } = errorOf(ended);
    expect([unknown, running, unstarted]).toMatchObject([[{ key: 'a' }], [], ['b', 'c']]);
    expect(message).toContain('0 runs continue, the state of 1 run is not known, 2 tasks were not started');
  });

  it('whose run failed are started again with --retry failed, and not without it', async () => {
    const { 'no-repo': _, ...bad } = demo('bad', { repo: NOWHERE });
    const tasks = [bad, demo('good')];
    await at.batch(tasks);
    const [failed] = results(await at.batch(tasks));
    at.proxy.requests.length = 0;
    const retried = await at.batch(tasks, ['--retry', 'failed']);

    expect(failed).toMatchObject({ status: 'failed', exit_code: 1, attempts: 1 });
    expect(at.starts()).toEqual(['bad']);
    expect(results(retried)[0]).toMatchObject({ key: 'bad', exit_code: 1, attempts: 2 });
  });

  it('whose time is up exit 124 and are waited for by the next run', async () => {
    const slow = await replayFile(at.world, 'slow.json', [run('sleep 3'), finish('done')]);
    const task = { ...demo('slow'), replay: slow, 'wait-timeout': '1s' };
    const ended = await at.batch([task]);
    expect(results(ended)).toMatchObject([{ id: expect.any(String) as string, exit_code: 124 }]);
    at.proxy.requests.length = 0;
    const again = await at.batch([{ ...task, 'wait-timeout': '1m' }]);

    expect(again.code, again.err).toBe(0);
    expect(at.starts()).toEqual([]);
    expect(results(again)).toMatchObject([{ status: 'finished', exit_code: 0, attempts: 1 }]);
  });

  it('whose start has lost its answer are unknown where the server shows no start', async () => {
    let cuts = 0;
    at.proxy.answer = (request) => (isStart(request) && cuts++ === 0 ? 'cut' : null);
    const ended = await at.batch([demo('a')]);

    expect(ended.code).toBe(1);
    expect(results(ended)).toMatchObject([{ status: 'unknown', exit_code: 11, attempts: 1 }]);
  });
});

describe('over V0', () => {
  it('a conversation that has ended is stopped to make room for the next', async () => {
    const ended = await at.batch([demo('a', { api: 'v0' }), demo('b', { api: 'v0' })], ['--concurrency', '1']);

    expect(ended.code, ended.err).toBe(0);
    const [first] = jsonLines<{ id: string }>(ended.out);
    expect(at.proxy.writes().map(({ path: route }) => route)).toContain(`/api/conversations/${first?.id}/stop`);
  });
});
