/** Starting conversations. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import {
  conversation,
  expectCode,
  inEachDialect,
  json,
  lines,
  newest,
  ok,
  show,
  started,
  titledRun,
  until,
  untilAtWork,
  withSandboxes,
  type OutcomeJson,
} from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

export const STARTING: ContractCase[] = [
  ...inEachDialect('start: waits for the end and prints one document', async (target, dialect) => {
    const done = await started(target, dialect, 'QUICK', '--wait');
    // The local service reads every conversation in both dialects, and acs prefers the newer one.
    if (target.hasModel) expect(done.dialect).toBe(dialect);
    expect(done).toMatchObject({ status: 'finished', changed: true, outcome: { exit_code: 0 } });
    expect(done.id).toMatch(/^[0-9a-f]{32}$/);
    expect((await show(target, done.id)).status).toBe('finished');
  }),
  ...inEachDialect(
    'start: the cost at the end is that of all answers of the model',
    async (target, dialect) => {
      const { id, outcome, cost_usd } = await started(target, dialect, 'WORK', '--wait');
      const shown = await show(target, id);
      if (!target.hasModel) {
        expect([outcome?.cost_usd ?? 0, cost_usd ?? 0, shown.cost_usd ?? 0]).toEqual([0, 0, 0]);
        return;
      }
      // Three steps of 100 and 20 tokens; a title is made up while they are taken, or after the
      // end.
      const threeSteps = 3 * (100 * 2.5e-6 + 20 * 10e-6);
      expect(outcome?.cost_usd).toBeGreaterThan(0.999 * threeSteps);
      expect(cost_usd).toBeGreaterThanOrEqual(outcome?.cost_usd ?? Infinity);
      expect(shown.cost_usd).toBeGreaterThanOrEqual(cost_usd ?? Infinity);
      expect(shown.tokens?.input).toBeGreaterThanOrEqual(300);
      expect(shown.tokens?.output).toBe((shown.tokens?.input ?? 0) / 5);
    },
  ),
  ...inEachDialect(
    'start: prints the events of the run and its outcome last',
    async (target, dialect) => {
      const ended = expectCode(
        await conversation(target, dialect, 'WORK', '--follow', '--format', 'ndjson'),
        0,
      );
      const [first, ...rest] = lines<{ type: string; id: string }>(ended);
      const last = rest.at(-1) as unknown as OutcomeJson;
      expect(first).toMatchObject({ type: 'started' });
      expect(last).toMatchObject({
        type: 'outcome',
        status: 'finished',
        exit_code: 0,
        conversation_id: first?.id,
      });
      expect(rest.slice(0, -1).every(({ type }) => type === 'event')).toBe(true);
    },
  ),
  ...inEachDialect(
    'start: a run that ends with a text answer has finished',
    async (target, dialect) => {
      const { id } = await started(target, dialect, 'PLAIN', '--wait');
      expect((await ok(target, 'conv', 'result', id)).out).toBe(
        'A plain answer, no tool was needed.',
      );
    },
  ),
  ...inEachDialect(
    'start: the title is the requested one, not a generated one',
    async (target, dialect) => {
      expect((await titledRun(target, dialect)).title).toBe('Chosen by hand');
    },
  ),
  ...inEachDialect('start: returns the id while the agent works', async (target, dialect) => {
    const file = path.join(target.dir, `${randomUUID()}.id`);
    const ended = expectCode(
      await conversation(target, dialect, 'COUNT', '-q', '--id-file', file),
      0,
    );
    const id = ended.out.trim();
    expect((await readFile(file, 'utf8')).trim()).toBe(id);
    await untilAtWork(target, id);
    // A busy sandbox returns no status for some seconds.
    await until('its status', async () => !(await show(target, id)).status.startsWith('unknown'));
    expect((await show(target, id)).status).toBe('running');
    expectCode(await target.acs('conv', 'result', id), 5, 'no answer yet');
    expectCode(await target.acs('conv', 'show', id, '--exit-status'), 6);
    expectCode(await target.acs('conv', 'wait', id, '--wait-timeout', '500ms'), 124);
    await ok(target, 'conv', 'stop', id);
  }),
  ...inEachDialect(
    'start: an id that the caller chose is kept, and the same start again sends nothing',
    async (target, dialect) => {
      const id = randomUUID().replaceAll('-', '');
      if (newest(target) === 'v0') {
        expectCode(await conversation(target, dialect, 'QUICK', '--id', id), 12);
        return 'unsupported';
      }
      const first = await started(target, dialect, 'QUICK', '--id', id, '--wait');
      expect(first.id).toBe(id);
      const again = await started(target, dialect, 'QUICK', '--id', id);
      expect(again).toMatchObject({ id, changed: false });
    },
  ),
  {
    name: 'start: a model of its own, exit 12 over V0',
    async run(target) {
      const flags = ['--model', 'openai/gpt-4o-mini', '--json'];
      if (target.dialects.includes('v0'))
        expectCode(await conversation(target, 'v0', 'QUICK', ...flags), 12);
      const dialect = newest(target);
      if (dialect === 'v0') return 'unsupported';
      const made = json(
        expectCode(await conversation(target, dialect, 'QUICK', ...flags, '--wait'), 0),
      );
      expect(made.model).toBe('openai/gpt-4o-mini');
    },
  },
  withSandboxes({
    name: 'start task: its id stands for the conversation, from the start to READY and after',
    async run(target) {
      const made = json<{ id: string | null; start_task_id: string }>(
        expectCode(await conversation(target, 'v1', 'QUICK', '--no-wait', '--json'), 0),
      );
      expect(made.start_task_id).toMatch(/^[0-9a-f]{32}$/);
      expectCode(await target.acs('conv', 'wait', made.start_task_id), 0);
      const shown = await show(target, made.start_task_id);
      expect(shown).toMatchObject({ status: 'finished', dialect: 'v1' });
      expect((await show(target, shown.id)).id).toBe(shown.id);
    },
  }),
  withSandboxes({
    name: 'start task: one that ends in ERROR is a failure with its reason',
    async run(target) {
      const { status, body } = await target.request('POST', '/api/v1/app-conversations', {
        sandbox_id: 'nobody',
        ...(target.hasModel ? {} : { replay_json: 'demo' }),
      });
      expect(status).toBe(200);
      const { id } = body as { id: string };
      for (const verb of ['wait', 'follow']) {
        const ended = expectCode(await target.acs('conv', verb, id, '--json'), 1, verb);
        const outcome =
          verb === 'wait' ? json<OutcomeJson>(ended) : lines<OutcomeJson>(ended).at(-1);
        expect(outcome).toMatchObject({ status: 'failed', exit_code: 1 });
        expect(outcome?.reason?.text).toMatch(/Sandbox not found/);
      }
      expect((await show(target, id)).reason?.text).toMatch(/Sandbox not found/);
    },
  }),
  {
    name: 'start: a dry run shows the requests and starts nothing',
    async run(target) {
      // The order may change: servers update the time of a record when its sandbox reports a stop.
      const ids = async (): Promise<string[]> =>
        (await ok(target, 'conv', 'list', '-q', '--all-pages')).out.split('\n').sort();
      const before = await ids();
      const dry = json<{ requests: { method: string }[] }>(
        expectCode(await conversation(target, newest(target), 'QUICK', '--dry-run', '--json'), 0),
      );
      expect(dry.requests.map(({ method }) => method)).toContain('POST');
      expect(await ids()).toEqual(before);
    },
  },
];

// Many conversations from one file.

interface ResultJson {
  key: string;
  id: string | null;
  status: string;
  exit_code: number;
  attempts: number;
}

export const BATCHING: ContractCase[] = [
  ...inEachDialect(
    'batch: each task is started once, also by a run that has lost the answers',
    async (target, dialect) => {
      const files = await writeTasks(target, dialect, ['first', 'second']);
      const args = ['batch', files.tasks, '-o', files.results, '--concurrency', '1'];
      const results = byKey(
        expectCode(await target.acs(...args, '--diff-dir', files.diffs), 0, 'batch'),
      );
      expect(results).toMatchObject([
        { key: 'first', status: 'finished', exit_code: 0, attempts: 1 },
        { key: 'second', status: 'finished', exit_code: 0, attempts: 1 },
      ]);
      expect((await readdir(files.diffs)).toSorted()).toEqual(['first.diff', 'second.diff']);
      expect(byKey(expectCode(await target.acs(...args), 0, 'the same batch again'))).toEqual(
        results,
      );

      await keepStarts(`${files.results}.state`);
      const again = await target.acs(...args);
      if (dialect === 'v0') {
        expect(
          byKey(expectCode(again, 1, 'a start over V0 cannot be looked up')).map(
            ({ status }) => status,
          ),
        ).toEqual(['unknown', 'unknown']);
        return;
      }
      const found = byKey(expectCode(again, 0, 'a start is looked up by its id'));
      expect(found.map(({ id, attempts }) => [id, attempts])).toEqual(
        results.map(({ id }) => [id, 1]),
      );
    },
  ),
  {
    name: 'new: --count starts the task several times',
    async run(target) {
      const ended = expectCode(
        await conversation(target, newest(target), 'QUICK', '--count', '2', '--json'),
        0,
      );
      const { items } = json<{ items: { run: number; id: string; status: string }[] }>(ended);
      expect(items).toMatchObject([
        { run: 1, status: 'finished' },
        { run: 2, status: 'finished' },
      ]);
      expect(items[0]?.id).not.toBe(items[1]?.id);
    },
  },
];

async function writeTasks(
  target: Target,
  dialect: Dialect,
  keys: readonly string[],
): Promise<{ tasks: string; results: string; diffs: string }> {
  const words = await target.begin('QUICK');
  const replay = words.indexOf('--replay');
  const task = replay === -1 ? { message: words[0] } : { replay: words[replay + 1] };
  const name = path.join(target.dir, `batch-${randomUUID()}`);
  const api = dialect === 'agent' ? {} : { api: dialect };
  const tasks = keys.map((key) => JSON.stringify({ key, ...task, 'no-repo': true, ...api }));
  await writeFile(`${name}.jsonl`, tasks.join('\n'));
  return { tasks: `${name}.jsonl`, results: `${name}.results.jsonl`, diffs: `${name}.diffs` };
}

/**
 * Leaves of the state what it has when the process is killed before the answers of the starts come.
 */
async function keepStarts(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  await writeFile(
    file,
    text
      .split(/(?<=\n)/)
      .filter((line) => line.includes('"state":"starting"'))
      .join(''),
  );
}

function byKey(ended: Parameters<typeof lines>[0]): ResultJson[] {
  return lines<ResultJson>(ended).toSorted((one, other) => one.key.localeCompare(other.key));
}
