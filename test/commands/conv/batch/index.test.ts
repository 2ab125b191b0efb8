import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/base/errors.ts';
import { errorOf, finish, jsonLines, replayFile, run, until } from '../support.ts';
import { ALONE, demo, isStart, resultsOf, useBatch, type BatchEnding } from './batch-world.ts';

const at = useBatch({ oneSandbox: true });
const NOWHERE = { ACS_BASE_URL: 'http://127.0.0.1:1' };

/** A task whose run does not end. */
const endless = async (key: string) =>
  demo(key, { replay: await replayFile(at, 'endless.json', [run('sleep 600'), finish('done')]) });

/** Interrupts the command once the runs of these tasks have started. */
async function interrupted(
  tasks: readonly object[],
  keys: readonly string[],
  {
    line = '',
    meanwhile,
    ...ending
  }: BatchEnding & { line?: string; meanwhile?: () => Promise<unknown> } = {},
) {
  const interruption = new AbortController();
  let printed = '';
  const onErr = (text: string) => void (printed += text);
  const running = at.batch(
    tasks,
    { code: 130, signal: interruption.signal, onErr, ...ending },
    line,
  );
  await until(() => keys.every((key) => printed.includes(`${key}: conversation`)));
  await meanwhile?.();
  interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
  return await running;
}

describe('acs batch', () => {
  it('prints one JSON line a result off a terminal and exits 0 when all runs have finished', async () => {
    const result = { status: 'finished', exit_code: 0, reason: null, attempts: 1 };
    const results = ['one', 'two'].map((key) => ({ key, ...result }));
    const ended = await at.batch([demo('one'), demo('two')], { results });
    const members = Object.keys(resultsOf(ended)[0] ?? {});
    expect(members.slice(0, 6)).toEqual(['key', 'id', 'status', 'exit_code', 'reason', 'attempts']);
  });

  it('exits 1 when one run has not finished, with the reason in its result', async () => {
    const replay = await replayFile(at, 'broken.json', [
      { source: 'agent', action: 'run', args: {} },
    ]);
    const reason = { text: expect.stringMatching(/./) as string };
    const ended = await at.batch([demo('good'), demo('bad', { replay })], {
      code: 1,
      results: [
        { key: 'bad', reason },
        { key: 'good', exit_code: 0 },
      ],
    });
    expect(resultsOf(ended)[0]?.['exit_code']).not.toBe(0);
  });

  it('starts nothing a second time when the same command runs again, and prints the same results', async () => {
    const results = resultsOf(await at.batch([demo('a'), demo('b')]));
    const again = await at.batch([demo('a'), demo('b')], { starts: [] });
    expect(resultsOf(again)).toEqual(results);
    expect(at.results()).toEqual(results);
  });

  it('starts the lines that were added to the file', async () => {
    await at.batch([demo('a')]);
    await at.batch([demo('a'), demo('b')], { starts: ['b'] });
  });

  it('stores each start before it is sent', async () => {
    let stored: string | null = null;
    at.script((asked) => {
      if (isStart(asked)) stored = at.stored();
      return null;
    });
    await at.batch([demo('one')]);
    const { conversation_id: id } = at.server.asked.find(isStart)?.body as {
      conversation_id: string;
    };
    const steps = [{ key: 'one', state: 'starting', attempt: 1, id: id.replaceAll('-', '') }];
    expect(jsonLines(stored ?? '')).toMatchObject(steps);
  });

  it('exits 6 before anything is sent when a task has changed under its key, and for a file of other tasks', async () => {
    await at.batch([demo('a')]);
    const changed = demo('a', { message: 'another message' });
    await at.batch([changed], { code: 6, err: 'the task a differs from the one that', starts: [] });
    await at.batch([demo('z')], { code: 6, err: 'has the results of other tasks', starts: [] });
  });

  it('exits 6 while another batch writes the same results file', async () => {
    const task = await endless('slow');
    const meanwhile = () => at.batch([task], { code: 6, err: 'another batch (process' });
    await interrupted([task], ['slow'], { meanwhile });
  });

  it('an interrupt names the runs that continue and the command that continues them, and exits 130', async () => {
    await interrupted([await endless('slow'), demo('later')], ['slow'], {
      line: '--concurrency 1',
      starts: ['slow'],
      err: [
        /slow: conversation [0-9a-f]{32} continues/,
        '1 run continues, 1 task was not started',
        /the same command continues it; its state is in \S+results-\d+\.jsonl/,
      ],
    });
  });

  it('an interrupt names runs of an earlier command as continuing, though it did not wait for them yet', async () => {
    const tasks = [await endless('one'), await endless('two')];
    await interrupted(tasks, ['one', 'two']);
    const again = await interrupted(tasks, ['one'], { line: '--concurrency 1 --json' });
    expect(errorOf(again)).toMatchObject({
      running: [{ key: 'one' }, { key: 'two' }],
      not_started: [],
    });
  });

  it('writes the diff of each task before it pauses the sandbox for the next start', async () => {
    const results = [{ diff: { files: 1 } }, { diff: { files: 1 } }];
    await at.batch(
      [demo('one', ALONE), demo('a/b', ALONE)],
      { results },
      '--diff-dir diffs --concurrency 1',
    );
    const folder = path.join(at.dir, 'diffs');
    expect((await readdir(folder)).toSorted()).toEqual(['a%2Fb.diff', 'one.diff']);
    expect(await readFile(path.join(folder, 'one.diff'), 'utf8')).toContain('+++ b/acs-demo.sh');
    expect(at.writes().filter((write) => /\/sandboxes\/.*\/pause$/.test(write))).toHaveLength(1);
  });

  it('exits 1 for a diff that cannot be written, and the same command writes it without another start', async () => {
    const file = path.join(at.dir, 'taken', 'one.diff');
    await mkdir(file, { recursive: true });
    const err = 'the diff was not taken (cannot write taken/one.diff: ';
    await at.batch(
      [demo('one', ALONE)],
      { code: 1, err, results: [{ exit_code: 0, diff: null }] },
      '--diff-dir taken',
    );
    await rm(file, { recursive: true });
    await at.batch(
      [demo('one', ALONE)],
      { starts: [], results: [{ exit_code: 0, diff: { files: 1 } }] },
      '--diff-dir taken',
    );
    expect(await readFile(file, 'utf8')).toContain('+++ b/acs-demo.sh');
    expect(at.results()).toMatchObject([{ key: 'one', diff: { files: 1 } }]);
  });

  it('--dry-run prints the first request, and neither starts nor stores anything', async () => {
    const out = { requests: [{ method: 'POST' }] };
    await at.batch([demo('one'), demo('two')], { out, starts: [] }, '--dry-run --json');
    expect(at.stored()).toBeNull();
  });

  it('--dry-run prints no request of a task that the results file has', async () => {
    await at.batch([demo('one')]);
    const out = { requests: [{ body: { initial_message: { content: [{ text: 'two' }] } } }] };
    await at.batch([demo('one'), demo('two')], { out }, '--dry-run --json');
  });

  it('leaves no results file when it ends before the first start, and keeps an empty one', async () => {
    await at.batch([demo('one')], { env: NOWHERE, code: 10 });
    expect(at.stored()).toBeNull();
    at.putJournal('');
    await at.batch([demo('one')], { env: NOWHERE, code: 10 });
    expect(at.stored()).toBe('');
  });

  it('prints a table on a terminal and the number of ended tasks while it runs, and the results in each format', async () => {
    const terminal = { columns: 100, env: { NO_COLOR: '1' } };
    await at.batch([demo('one')], {
      ...terminal,
      out: /KEY +STATUS +EXIT CODE/,
      err: '0 of 1 ended, 1 running',
    });
    const results = [{ key: 'one', exit_code: 0 }];
    await at.batch([demo('one')], { out: { items: results } }, '--json');
    await at.batch([demo('one')], { results }, '--format=ndjson');
  });

  it('exits 2 for tasks from stdin without a results file, and stores the results where -o says', async () => {
    const stdin = JSON.stringify(demo('one', { sandbox: at.world.sandbox }));
    await at.ends('batch -', {
      stdin,
      code: 2,
      err: 'tasks from stdin need a results file: -o <file>',
    });
    const cwd = path.join(at.dir, 'beside');
    await mkdir(cwd);
    await at.ends('batch - -o x.jsonl', { stdin, cwd });
    expect(await readdir(cwd)).toEqual(['x.jsonl', 'x.jsonl.state']);
    await rm(path.join(cwd, 'x.jsonl.state'));
    await at.ends('batch - -o x.jsonl', {
      stdin,
      cwd,
      code: 6,
      err: 'without x.jsonl.state: it is not of this batch',
    });
  });
});
