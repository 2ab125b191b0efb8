import { describe, expect, it } from 'vitest';
import type { Asked, Reply } from '../../../support/server.ts';
import { TestClock } from '../../../support/test-clock.ts';
import { errorOf, finish, replayFile, run } from '../support.ts';
import { ALONE, demo, isStart, resultsOf, useBatch } from './batch-world.ts';

const at = useBatch({ oneSandbox: true });
/** The start of a conversation there fails: nothing listens. */
const NOWHERE = 'http://127.0.0.1:1/owner/name.git';
const TOO_MANY: Reply = { status: 409, json: { detail: 'Too many conversations are running' } };
const UNAUTHORIZED: Reply = { status: 401, json: { detail: 'no' } };
const isPause = ({ path: route }: Asked) => /\/sandboxes\/[^/]+\/pause$/.test(route);

/** Ten times as fast: the pauses before another request or another start are short. */
const fast = () => new TestClock({ movedBy: 'real-time', speed: 10, startMs: Date.now() });

describe('a start that the server refuses because too many run', () => {
  /** The server refuses a start while one conversation runs; a pause of its sandbox makes room. */
  function limitToOne(refuse: () => Reply | Promise<Reply>): void {
    let running = 0;
    at.script((asked) => {
      if (isPause(asked)) running -= 1;
      if (!isStart(asked)) return null;
      if (running > 0) return refuse();
      running += 1;
      return null;
    });
  }

  it.each<[string, Reply]>([
    ['409', TOO_MANY],
    ['429', { status: 429, json: { error: 'Too many conversations are running' } }],
  ])('with %s is sent again when a run of the batch has ended', async (_, refusal) => {
    let refused = 0;
    limitToOne(() => {
      refused += 1;
      return refusal;
    });
    const results = ['a', 'b', 'c'].map((key) => ({ key, exit_code: 0, attempts: 1 }));
    const tasks = ['a', 'b', 'c'].map((key) => demo(key, ALONE));
    await at.batch(tasks, { results, clock: fast() });
    expect(refused).toBeGreaterThan(0);
  });

  it('is sent again when the last run of the batch has ended before the refusal', async () => {
    let refuse = (): void => undefined;
    const refusal = new Promise<Reply>((resolve) => (refuse = () => resolve(TOO_MANY)));
    limitToOne(() => refusal);
    const onErr = (text: string) => void (/^[ab]: finished/m.test(text) && refuse());
    await at.batch([demo('a', ALONE), demo('b', ALONE)], { onErr, clock: fast() });
  });
});

describe('the tasks of a batch', () => {
  it('run no more at once than --concurrency says', async () => {
    await at.batch([demo('a'), demo('b'), demo('c')], {}, '--concurrency 1');
    const states = at.journal().map(({ key, state }) => [key, state ?? 'ended']);
    expect(states).toEqual(
      ['a', 'b', 'c'].flatMap((key) => ['starting', 'started', 'ended'].map((is) => [key, is])),
    );
  });

  it('need no more workers than there are tasks', () =>
    at.batch([demo('a')], {}, '--concurrency 4294967296'));

  it('keep the sandbox of the last run, and pause those of runs that make room for a start', async () => {
    await at.batch([demo('a', ALONE), demo('b', ALONE)], {}, '--concurrency 1');
    const writes = at.server.asked.filter((asked) => isStart(asked) || isPause(asked)).map(isPause);
    expect(writes).toEqual([false, true, false]);
  });

  it('are not started any more when the server refuses the key, and the next run starts them', async () => {
    let refuses = true;
    at.script((asked) => (refuses && isStart(asked) ? UNAUTHORIZED : null));
    const tasks = [demo('a'), demo('b'), demo('c')];
    const ending = {
      code: 1,
      starts: ['a'],
      results: [{ key: 'a', id: null, status: 'not-started', exit_code: 4, attempts: 0 }],
      err: '3 tasks were not started',
    };
    await at.batch(tasks, ending, '--concurrency 1');
    refuses = false;
    await at.batch(tasks);
    expect(at.starts().toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('are all named when the server refuses the key while they run', async () => {
    const replay = await replayFile(at, 'held.json', [run('sleep 600'), finish('done')]);
    let refuses = false;
    at.script(() => (refuses ? UNAUTHORIZED : null));
    const onErr = (text: string) => (refuses ||= text.includes('a: conversation'));
    const tasks = [demo('a', { replay }), demo('b'), demo('c')];
    expect(
      errorOf(await at.batch(tasks, { code: 1, onErr }, '--concurrency 1 --json')),
    ).toMatchObject({
      unknown: [{ key: 'a' }],
      running: [],
      not_started: ['b', 'c'],
      message: expect.stringContaining(
        '0 runs continue, the state of 1 run is not known, 2 tasks were not started',
      ) as string,
    });
  });

  it('whose run failed are started again with --retry failed, and not without it', async () => {
    const tasks = [demo('bad', { repo: NOWHERE, 'no-repo': undefined }), demo('good')];
    const failed = { key: 'bad', status: 'failed', exit_code: 1 };
    await at.batch(tasks, { code: 1 });
    await at.batch(tasks, { code: 1, starts: [], results: [{ ...failed, attempts: 1 }, {}] });
    await at.batch(
      tasks,
      { code: 1, starts: ['bad'], results: [{ ...failed, attempts: 2 }, {}] },
      '--retry failed',
    );
  });

  it('whose time is up exit 124 and are waited for by the next run', async () => {
    const replay = await replayFile(at, 'slow.json', [run('sleep 2'), finish('done')]);
    const task = demo('slow', { replay });
    const id = expect.any(String) as string;
    await at.batch([{ ...task, 'wait-timeout': '1s' }], {
      code: 1,
      results: [{ id, exit_code: 124 }],
    });
    const results = [{ status: 'finished', exit_code: 0, attempts: 1 }];
    await at.batch([{ ...task, 'wait-timeout': '1m' }], { starts: [], results });
  });

  it('whose start has lost its answer are unknown where the server shows no start', async () => {
    let cuts = 0;
    at.script((asked) => (isStart(asked) && cuts++ === 0 ? { cut: true } : null));
    await at.batch([demo('a', ALONE)], {
      clock: fast(),
      code: 1,
      results: [{ status: 'unknown', exit_code: 11, attempts: 1 }],
    });
  });
});

describe('over V0', () => {
  it('a conversation that has ended is stopped to make room for the next', async () => {
    const ended = await at.batch(
      [demo('a', { api: 'v0' }), demo('b', { api: 'v0' })],
      {},
      '--concurrency 1',
    );
    expect(at.writes()).toContain(
      `POST /api/conversations/${String(resultsOf(ended)[0]?.['id'])}/stop`,
    );
  });
});
