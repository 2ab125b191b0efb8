import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/errors.ts';
import { errorOf, finish, jsonLines, replayFile, run, until } from '../support.ts';
import { demo, isStart, results, useBatchWorld } from './batch-world.ts';

const at = useBatchWorld();

describe('acs batch', () => {
  it('prints one JSON line a result off a terminal and exits 0 when all runs have finished', async () => {
    const ended = await at.batch([demo('one'), demo('two')]);

    expect(ended.code, ended.err).toBe(0);
    expect(results(ended)).toMatchObject([
      { key: 'one', status: 'finished', exit_code: 0, reason: null, attempts: 1 },
      { key: 'two', status: 'finished', exit_code: 0, reason: null, attempts: 1 },
    ]);
    expect(Object.keys(results(ended)[0] ?? {}).slice(0, 6)).toEqual([
      'key',
      'id',
      'status',
      'exit_code',
      'reason',
      'attempts',
    ]);
  });

  it('exits 1 when one run has not finished, with the reason in its result', async () => {
    const broken = await replayFile(at.world, 'broken.json', [{ action: 'no-such-action', args: {} }]);
    const ended = await at.batch([demo('good'), { ...demo('bad'), replay: broken }]);

    expect(ended.code, ended.err).toBe(1);
    const [bad, good] = results(ended);
    expect(good).toMatchObject({ key: 'good', exit_code: 0 });
    expect(bad).toMatchObject({ key: 'bad' });
    expect(bad?.exit_code).not.toBe(0);
    expect(bad?.reason?.text).toBeTruthy();
  });

  it('starts nothing a second time when the same command runs again, and prints the same results', async () => {
    const first = await at.batch([demo('a'), demo('b')]);
    at.proxy.requests.length = 0;
    const second = await at.batch([demo('a'), demo('b')]);

    expect(at.starts()).toEqual([]);
    expect(second.code).toBe(0);
    expect(results(second)).toEqual(results(first));
  });

  it('starts the lines that were added to the file', async () => {
    await at.batch([demo('a')]);
    at.proxy.requests.length = 0;
    await at.batch([demo('a'), demo('b')]);

    expect(at.starts()).toEqual(['b']);
  });

  it('stores each start before it is sent', async () => {
    let stored = '';
    at.proxy.answer = (request) => {
      if (isStart(request)) stored = at.journalNow();
      return null;
    };
    await at.batch([demo('one')]);

    const sent = at.proxy.writes().find(({ path: route }) => route === '/api/v1/app-conversations');
    const { conversation_id: id } = sent?.body as { conversation_id: string };
    expect(jsonLines(stored)).toMatchObject([
      { key: 'one', state: 'starting', attempt: 1, id: id.replaceAll('-', '') },
    ]);
  });

  it('exits 6 before anything is sent when a task has changed under its key', async () => {
    await at.batch([demo('a')]);
    at.proxy.requests.length = 0;
    const ended = await at.batch([{ ...demo('a'), message: 'another message' }]);

    expect(ended.code).toBe(6);
    expect(ended.err).toContain('the task a differs from the one that');
    expect(at.starts()).toEqual([]);
  });

  it('exits 6 for a results file of other tasks', async () => {
    await at.batch([demo('a')]);
    const ended = await at.batch([demo('z')]);

    expect(ended.code).toBe(6);
    expect(ended.err).toContain('has the results of other tasks');
  });

  it('exits 6 while another batch writes the same results file', async () => {
    const slow = await replayFile(at.world, 'slow.json', [run('sleep 600'), finish('done')]);
    const interruption = new AbortController();
    let printed = '';
    const first = at.batch([{ ...demo('slow'), replay: slow }], [], {
      signal: interruption.signal,
      onErr: (text) => (printed += text),
    });
    await until(() => printed.includes('slow: conversation'));
    const second = await at.batch([{ ...demo('slow'), replay: slow }]);
    interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    await first;

    expect(second.code).toBe(6);
    expect(second.err).toContain('another batch (process');
  });

  it('an interrupt names the runs that continue and the command that continues them, and exits 130', async () => {
    const slow = await replayFile(at.world, 'slow.json', [run('sleep 600'), finish('done')]);
    const interruption = new AbortController();
    let printed = '';
    const tasks = [{ ...demo('slow'), replay: slow }, demo('later')];
    const running = at.batch(tasks, ['--concurrency', '1'], {
      signal: interruption.signal,
      onErr: (text) => (printed += text),
    });
    await until(() => printed.includes('slow: conversation'));
    interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
    const ended = await running;

    expect(ended.code).toBe(130);
    expect(ended.err).toMatch(/slow: conversation [0-9a-f]{32} continues/);
    expect(ended.err).toContain('1 run continues, 1 task was not started');
    expect(ended.err).toMatch(/the same command continues it; its state is in \S+results-\d+\.jsonl/);
    expect(at.starts()).toEqual(['slow']);
  });

  it('an interrupt names runs of an earlier command as continuing, though it did not wait for them yet', async () => {
    const slow = await replayFile(at.world, 'slow.json', [run('sleep 600'), finish('done')]);
    const tasks = [demo('one', { replay: slow }), demo('two', { replay: slow })];
    const untilPrinted = async (words: readonly string[], ...args: string[]) => {
      const interruption = new AbortController();
      let printed = '';
      const running = at.batch(tasks, [...args, '--json'], {
        signal: interruption.signal,
        onErr: (text) => (printed += text),
      });
      await until(() => words.every((word) => printed.includes(word)));
      interruption.abort(new AppError('interrupted', 'interrupted by SIGINT'));
      return errorOf(await running);
    };
    await untilPrinted(['one: conversation', 'two: conversation']);
    const again = await untilPrinted(['one: conversation'], '--concurrency', '1');

    expect(again['running']).toMatchObject([{ key: 'one' }, { key: 'two' }]);
    expect(again['not_started']).toEqual([]);
  });

  it('writes the diff of each task before it pauses the sandbox for the next start', async () => {
    const folder = path.join(at.world.dir, 'diffs');
    const ended = await at.batch([demo('one'), demo('a/b')], ['--diff-dir', folder, '--concurrency', '1']);

    expect(ended.code, ended.err).toBe(0);
    expect((await readdir(folder)).toSorted()).toEqual(['a%2Fb.diff', 'one.diff']);
    expect(await readFile(path.join(folder, 'one.diff'), 'utf8')).toContain('+++ b/acs-demo.sh');
    const routes = at.proxy.requests.map(({ method, path: route }) => `${method} ${route}`);
    const pauses = routes.filter((route) => /^POST .*\/sandboxes\/.*\/pause$/.test(route));
    expect(pauses).toHaveLength(1);
    expect(results(ended)).toMatchObject([{ diff: { files: 1 } }, { diff: { files: 1 } }]);
  });

  it('--dry-run prints the request of each start, and neither starts nor stores anything', async () => {
    const ended = await at.batch([demo('one'), demo('two')], ['--dry-run', '--json']);

    expect(ended.code, ended.err).toBe(0);
    const { requests } = JSON.parse(ended.out) as { requests: { method: string; url: string }[] };
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'POST']);
    expect(at.starts()).toEqual([]);
    await expect(at.journal()).rejects.toThrow('ENOENT');
  });

  it('--dry-run prints no request of a task that the results file has', async () => {
    await at.batch([demo('one')]);
    const ended = await at.batch([demo('one'), demo('two')], ['--dry-run', '--json']);

    expect(ended.code, ended.err).toBe(0);
    const { requests } = JSON.parse(ended.out) as { requests: { body: unknown }[] };
    expect(requests).toHaveLength(1);
    expect(JSON.stringify(requests)).toContain('"two"');
  });

  it('leaves no results file when it ends before the first start', async () => {
    const ended = await at.batch([demo('one')], [], { env: { ACS_BASE_URL: 'http://127.0.0.1:1' } });

    expect(ended.code).toBe(10);
    await expect(at.journal()).rejects.toThrow('ENOENT');
  });

  it('keeps an empty results file that was there before', async () => {
    await at.putJournal('');
    await at.batch([demo('one')], [], { env: { ACS_BASE_URL: 'http://127.0.0.1:1' } });

    expect(at.journalNow()).toBe('');
  });

  it.each([
    ['--json', (out: string) => (JSON.parse(out) as { items: unknown[] }).items],
    ['--format=ndjson', (out: string) => jsonLines(out)],
  ])('%s has the results', async (format, read) => {
    const ended = await at.batch([demo('one')], [format]);

    expect(read(ended.out)).toMatchObject([{ key: 'one', exit_code: 0 }]);
  });

  it('prints a table at the end on a terminal, and a live table while it runs', async () => {
    const ended = await at.batch([demo('one')], [], { columns: 100, env: { NO_COLOR: '1' } });

    expect(ended.code).toBe(0);
    expect(ended.out).toMatch(/KEY +STATUS +EXIT CODE/);
    expect(ended.err).toContain('LAST ACTION');
    expect(ended.err).toContain('0 of 1 ended');
  });

  it('exits 2 for tasks from stdin without a results file', async () => {
    const ended = await at.world.invoke({ args: ['batch', '-'], stdin: JSON.stringify(demo('one')) });

    expect(ended.code).toBe(2);
    expect(ended.err).toContain('tasks from stdin need a results file: -o <file>');
  });

  it('stores the results beside the tasks without -o', async () => {
    const dir = path.join(at.world.dir, 'beside');
    await mkdir(dir);
    const ended = await at.world.invoke({
      args: ['batch', '-', '-o', 'x.jsonl'],
      stdin: JSON.stringify(demo('one')),
      cwd: dir,
    });

    expect(ended.code, ended.err).toBe(0);
    expect(await readdir(dir)).toEqual(['x.jsonl']);
  });
});
