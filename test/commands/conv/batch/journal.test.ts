import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BIN } from '../../../e2e/processes.ts';
import { jsonLines } from '../support.ts';
import { demo, results, useBatchWorld } from './batch-world.ts';

const hasPrlimit = spawnSync('prlimit', ['--fsize']).status === 0;
interface BatchErrorJson {
  running: { key: string; id: string }[];
  unknown: { key: string }[];
  not_started: string[];
}

const at = useBatchWorld();

/** The first lines of the results file of a batch that was killed. */
async function stepsOf(...tasks: Record<string, unknown>[]): Promise<Record<string, unknown>[]> {
  await at.batch(tasks);
  const steps = (await at.journal()).filter(({ state }) => state !== undefined);
  at.proxy.requests.length = 0;
  return steps;
}

async function put(...records: unknown[]): Promise<void> {
  await at.putJournal(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

const lostStart = (step: Record<string, unknown> | undefined) => ({
  ...step,
  id: 'abcdef'.padEnd(32, '0'),
  sent_at: new Date(Date.now() - 60_000).toISOString(),
});

describe('the same command after a kill', () => {
  it('waits for a run whose start was stored as taken, and sends no start', async () => {
    const [starting, started] = await stepsOf(demo('one'));
    await put(starting, started);
    const ended = await at.batch([demo('one')]);

    expect(ended.code, ended.err).toBe(0);
    expect(at.starts()).toEqual([]);
    expect(results(ended)).toMatchObject([{ key: 'one', id: started?.['id'], exit_code: 0, attempts: 1 }]);
  });

  it('finds the conversation of a start whose answer was not stored, and sends no start', async () => {
    const [starting] = await stepsOf(demo('one'));
    await put(starting);
    const ended = await at.batch([demo('one')]);

    expect(ended.code, ended.err).toBe(0);
    expect(at.starts()).toEqual([]);
    expect(results(ended)).toMatchObject([{ id: starting?.['id'], exit_code: 0, attempts: 1 }]);
  });

  it('sends a start that the server has not taken, as the same attempt', async () => {
    const [starting] = await stepsOf(demo('one'));
    await put(lostStart(starting));
    const ended = await at.batch([demo('one')]);

    expect(ended.code, ended.err).toBe(0);
    expect(at.starts()).toEqual(['one']);
    expect(results(ended)).toMatchObject([{ exit_code: 0, attempts: 1 }]);
  });

  it('does not send a start again that the server cannot show, until --retry unknown asks for it', async () => {
    const [starting] = await stepsOf(demo('one', { api: 'v0' }));
    await put(starting);
    const ended = await at.batch([demo('one', { api: 'v0' })]);
    expect(ended.code).toBe(1);
    expect(results(ended)).toMatchObject([{ id: null, status: 'unknown', exit_code: 11, attempts: 1 }]);
    await at.batch([demo('one', { api: 'v0' })]);
    expect(at.starts()).toEqual([]);

    const retried = await at.batch([demo('one', { api: 'v0' })], ['--retry', 'unknown']);
    expect(at.starts()).toEqual(['one']);
    expect(results(retried)).toMatchObject([{ status: 'finished', exit_code: 0, attempts: 2 }]);
  });

  it('exits 6 where a run continues at another server', async () => {
    const [starting] = await stepsOf(demo('one'));
    await put({ ...starting, server: 'https://acs.example' });
    const ended = await at.batch([demo('one')]);

    expect(ended.code).toBe(6);
    expect(ended.err).toContain('the task one was started at https://acs.example');
  });

  it('repairs a last line that was cut off', async () => {
    const [starting, started] = await stepsOf(demo('one'));
    await at.putJournal(`${JSON.stringify(starting)}\n${JSON.stringify(started)}\n{"key":"one","id":"ab`);
    const ended = await at.batch([demo('one')]);

    expect(ended.code, ended.err).toBe(0);
    expect((await at.journal()).at(-1)).toMatchObject({ key: 'one', exit_code: 0 });
    expect(at.starts()).toEqual([]);
  });

  it('keeps a last line that lacks only its line feed', async () => {
    const [starting, started] = await stepsOf(demo('one'));
    await at.putJournal(`${JSON.stringify(starting)}\n${JSON.stringify(started)}`);
    await at.batch([demo('one')]);

    expect(at.starts()).toEqual([]);
    expect(await at.journal()).toHaveLength(3);
  });
});

describe('a results file', () => {
  it.each([
    ['that another program wrote', 'important\n'],
    ['that another program wrote without a line feed', 'important'],
    ['with other JSON', '{"key":"one"}\n'],
  ])('%s is exit 3 and stays as it was', async (_, text) => {
    await at.putJournal(text);
    const ended = await at.batch([demo('one')]);

    expect(ended.code).toBe(3);
    expect(ended.err).toContain('line 1: it was not written by acs batch');
    expect(at.journalNow()).toBe(text);
  });

  it('that is a folder is exit 3', async () => {
    await mkdir(path.join(at.world.dir, 'folder.results.jsonl'));
    const source = path.join(at.world.dir, 'folder.jsonl');
    await writeFile(source, JSON.stringify(demo('one')));
    const ended = await at.world.acs('batch', source);

    expect(ended.code).toBe(3);
  });

  // The write that fails is that of a start, of its id, or of a result.
  it.runIf(hasPrlimit).each([1_400, 1_600, 1_800])(
    'of at most %i bytes stops the batch: no start is sent that is not stored',
    async (most) => {
      const source = path.join(at.world.dir, 'many.jsonl');
      await rm(path.join(at.world.dir, 'many.results.jsonl'), { force: true });
      const keys = Array.from({ length: 6 }, (_, index) => `task-${index}`);
      await writeFile(source, keys.map((key) => JSON.stringify(demo(key))).join('\n'));
      const words = [BIN, 'batch', source, '--concurrency', '1', '--json'];
      const child = spawn('prlimit', [`--fsize=${most}`, process.execPath, ...words], {
        env: { ...process.env, ...at.world.env, ACS_BASE_URL: at.proxy.url },
      });
      let err = '';
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      child.stdout.resume();
      const [code] = (await once(child, 'close')) as [number | null];

      expect(code, err).toBe(1);
      expect(err).toContain('many.results.jsonl: EFBIG');
      const lines = jsonLines(await readFile(path.join(at.world.dir, 'many.results.jsonl'), 'utf8'));
      expect(at.starts()).toEqual(lines.filter(({ state }) => state === 'starting').map(({ key }) => key));
      expect(at.starts().length).toBeLessThan(keys.length);
      // Each task has ended, continues, has an end that was not read, or was not started.
      const { error } = JSON.parse(err.trimEnd().split('\n').at(-1) ?? '') as { error: BatchErrorJson };
      const ended = lines.filter(({ exit_code }) => exit_code !== undefined).map(({ key }) => key);
      const begun = [...error.running, ...error.unknown].map(({ key }) => key);
      expect([...ended, ...begun, ...error.not_started].toSorted()).toEqual(keys);
    },
  );
});
