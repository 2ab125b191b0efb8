import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BIN } from '../../../e2e/processes.ts';
import type { Reply } from '../../../support/server.ts';
import { jsonLines } from '../support.ts';
import { demo, isStart, useBatch } from './batch-world.ts';

const hasPrlimit = spawnSync('prlimit', ['--fsize']).status === 0;
const KEYS = Array.from({ length: 6 }, (_, index) => `task-${index + 1}`);
interface BatchErrorJson {
  running: { key: string; id: string }[];
  unknown: { key: string }[];
  not_started: string[];
}

const at = useBatch({ oneSandbox: true });
const lines = (...records: unknown[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('');
const manyTasks = () => lines(...KEYS.map((key) => demo(key, { sandbox: at.world.sandbox })));

describe('the same command after a kill', () => {
  /** The first lines of the state of a batch with one task. */
  async function stepsOf(task: object): Promise<Record<string, unknown>[]> {
    await at.batch([task]);
    return at.journal().filter(({ state }) => state !== undefined);
  }
  let steps: Record<string, unknown>[];
  beforeAll(async () => {
    steps = await stepsOf(demo('one'));
  });

  it.each<[string, () => string]>([
    ['waits for a run whose start was stored as taken', () => lines(...steps)],
    ['finds the conversation of a start whose answer was not stored', () => lines(steps[0])],
    ['repairs a last line that was cut off', () => `${lines(...steps)}{"key":"one","id":"ab`],
    ['repairs a cut last line of an earlier version', () => `${lines(...steps)}{"id":null,"co`],
    ['keeps a last line that lacks only its line feed', () => lines(...steps).trimEnd()],
  ])('%s, and sends no start', async (_, stored) => {
    at.putJournal(stored());
    const result = { key: 'one', id: steps[0]?.['id'], exit_code: 0, attempts: 1 };
    await at.batch([demo('one')], { starts: [], results: [result] });
    expect(at.journal()).toMatchObject([...steps, result]);
  });

  it('repairs a cut last line of each kind', async () => {
    const refusal: Reply = { status: 400, json: { detail: 'no' } };
    let refuses = true;
    at.script((asked) => (refuses && isStart(asked) ? refusal : null));
    await at.batch([demo('one')], { code: 1, results: [{ status: 'not-started' }] });
    refuses = false;
    await at.batch([demo('one')], { results: [{ status: 'finished' }] });
    const stored = (at.stored() ?? '').trimEnd().split('\n');
    const kinds = at.journal().map(({ state, status }) => state ?? status);
    expect(kinds).toEqual([
      'starting',
      'not-started',
      'not-started',
      'starting',
      'started',
      'finished',
    ]);
    for (const cut of new Set(stored.map((line) => line.slice(0, 40)))) {
      at.putJournal(cut);
      await at.batch([demo('one')], { starts: ['one'], results: [{ exit_code: 0, attempts: 1 }] });
    }
  });

  it('sends a start that the server has not taken, as the same attempt', async () => {
    const sent_at = new Date(Date.now() - 60_000).toISOString();
    at.putJournal(lines({ ...steps[0], id: 'abcdef'.padEnd(32, '0'), sent_at }));
    await at.batch([demo('one')], { starts: ['one'], results: [{ exit_code: 0, attempts: 1 }] });
  });

  it('does not send a start again after a search for it that was refused', async () => {
    at.putJournal(lines(steps[0]));
    const refusal: Reply = { status: 401, json: { detail: 'no' } };
    let refuses = true;
    at.script(({ path: route }) =>
      refuses && route.endsWith('/start-tasks/search') ? refusal : null,
    );
    const unread = { status: 'unknown(not-read)', exit_code: 4, attempts: 1 };
    await at.batch([demo('one')], { code: 1, starts: [], results: [unread] });
    refuses = false;
    const results = [{ id: steps[0]?.['id'], exit_code: 0, attempts: 1 }];
    await at.batch([demo('one')], { starts: [], results });
  });

  it('does not send a start again that the server cannot show, until --retry unknown asks for it', async () => {
    const task = demo('one', { api: 'v0' });
    const [starting] = await stepsOf(task);
    at.putJournal(lines(starting));
    const results = [{ id: null, status: 'unknown', exit_code: 11, attempts: 1 }];
    for (let time = 0; time < 2; time++) await at.batch([task], { code: 1, starts: [], results });
    const retried = [{ status: 'finished', exit_code: 0, attempts: 2 }];
    await at.batch([task], { starts: ['one'], results: retried }, '--retry unknown');
  });

  it('exits 6 where a run continues at another server', async () => {
    at.putJournal(lines({ ...steps[0], server: 'https://acs.example' }));
    await at.batch([demo('one')], {
      code: 6,
      err: 'the task one was started at https://acs.example',
    });
  });
});

describe('the same command after a kill, at a server that takes no id of the caller', () => {
  const other = useBatch({ oneSandbox: true });

  it('finds the start by its title', async () => {
    const text = await (await fetch(`${other.world.service.url}/openapi.json`)).text();
    other.script({
      '/openapi.json': {
        text: text.replaceAll('"conversation_id":{', '"other":{'),
        type: 'application/json',
      },
    });
    await other.batch([demo('one')], { starts: ['one'] });
    const [starting] = other.journal();
    expect(starting).toMatchObject({
      state: 'starting',
      id: null,
      title: expect.stringMatching(/^Conversation \w{32}$/),
    });
    other.putJournal(lines(starting));
    await other.batch([demo('one')], {
      starts: [],
      results: [{ key: 'one', exit_code: 0, attempts: 1 }],
    });
  });
});

describe('a results file', () => {
  it.each([
    ['that another program wrote', 'important\n'],
    ['that another program wrote without a line feed', 'important'],
    ['with other JSON', '{"key":"one"}\n'],
  ])('%s is exit 3 and stays as it was', async (_, text) => {
    at.putJournal(text);
    await at.batch([demo('one')], { code: 3, err: 'line 1: it was not written by acs batch' });
    expect(at.stored()).toBe(text);
  });

  it('that is a folder is exit 3', async () => {
    await mkdir(path.join(at.dir, 'folder.results.jsonl'));
    await at.ends(`batch ${await at.file('folder.jsonl', demo('one'))}`, { code: 3 });
  });

  it.each(['/dev/full', '/dev/null'])('that is %s is exit 3', async (device) => {
    const tasks = await at.file('device.jsonl', demo('one'));
    await at.ends(`batch ${tasks} -o ${device}`, { code: 3, err: 'is not a regular file' });
  });

  // The write that fails is that of a start, of its id, or of a result.
  it.runIf(hasPrlimit).each([1_400, 1_600, 1_800])(
    'of at most %i bytes stops the batch: no start is sent that is not stored',
    async (most) => {
      const source = await at.file('many.jsonl', manyTasks());
      const state = path.join(at.dir, 'many.results.jsonl.state');
      await rm(state, { force: true });
      await rm(path.join(at.dir, 'many.results.jsonl'), { force: true });
      const words = [BIN, 'batch', source, '--concurrency', '1', '--json'];
      const child = spawn('prlimit', [`--fsize=${most}`, process.execPath, ...words], {
        cwd: at.dir,
        env: at.env,
      });
      let err = '';
      child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
      child.stdout.resume();
      const [code] = (await once(child, 'close')) as [number | null];

      expect(code, err).toBe(1);
      expect(err).toContain('many.results.jsonl.state: EFBIG');
      // The next command repairs a last line of which a part was written.
      const stored = await readFile(state, 'utf8');
      const complete = jsonLines(stored.slice(0, stored.lastIndexOf('\n')));
      expect(at.starts()).toEqual(
        complete.filter(({ state }) => state === 'starting').map(({ key }) => key),
      );
      expect(at.starts().length).toBeLessThan(KEYS.length);
      // Each task has ended, continues, has an end that was not read, or was not started.
      const { error } = JSON.parse(err.trimEnd().split('\n').at(-1) ?? '') as {
        error: BatchErrorJson;
      };
      const ended = complete
        .filter(({ exit_code }) => exit_code !== undefined)
        .map(({ key }) => key);
      const begun = [...error.running, ...error.unknown].map(({ key }) => key);
      expect([...ended, ...begun, ...error.not_started].toSorted()).toEqual(KEYS);
    },
  );
});

/**
 * Real processes, counted at the server: runs the command until it ends by itself; `isMoment` kills
 * it with SIGKILL.
 */
async function killsUntilEnded(
  name: string,
  isMoment: (start: number, run: number) => boolean,
  reaches: 'server' | 'nothing',
): Promise<number> {
  const source = await at.file(`${name}.jsonl`, manyTasks());
  let child: ChildProcess;
  let starts = 0;
  let run = 0;
  at.script((asked) => {
    if (!isStart(asked) || !isMoment(++starts, run)) return null;
    child.kill('SIGKILL');
    if (reaches === 'server') return null;
    at.server.asked.splice(at.server.asked.lastIndexOf(asked), 1);
    return { cut: true };
  });
  for (let kills = 0; ; kills++) {
    run += 1;
    child = spawn(process.execPath, [BIN, 'batch', source], {
      cwd: at.dir,
      env: at.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code === null) continue;
    expect(at.starts().toSorted()).toEqual(KEYS);
    expect(jsonLines(out).map(({ exit_code }) => exit_code)).toEqual(KEYS.map(() => 0));
    return kills;
  }
}

describe('a batch that is killed and started again', () => {
  it('starts each task once when the kill comes as the server receives a start', async () => {
    expect(await killsUntilEnded('received', (start) => start % 4 === 2, 'server')).toBeGreaterThan(
      1,
    );
  });

  it('starts each task once when the kill comes before the server receives the start', async () => {
    expect(
      await killsUntilEnded('unsent', (start, run) => run === 1 && start === 2, 'nothing'),
    ).toBe(1);
  });
});
