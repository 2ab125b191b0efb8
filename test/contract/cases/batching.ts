/** Many conversations from one file. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { conversation, expectCode, inEachDialect, json, lines, newest } from '../support.ts';
import type { ContractCase, Dialect, Target } from '../target.ts';

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
  const tasks = keys.map((key) => JSON.stringify({ key, ...task, 'no-repo': true, api: dialect }));
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
