/** A batch that is killed again and again, and counted at the server. Real processes, killed at the moment of a start. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BIN } from '../../../e2e/processes.ts';
import { jsonLines } from '../support.ts';
import { demo, isStart, useBatchWorld, type ResultJson } from './batch-world.ts';

const at = useBatchWorld();
const KEYS = Array.from({ length: 12 }, (_, index) => `task-${index + 1}`);

/** Runs the command until it ends by itself; `isMoment` kills it with SIGKILL. */
async function runUntilEnded(
  name: string,
  isMoment: (start: number, run: number) => boolean,
  reaches: 'server' | 'nothing',
): Promise<{ kills: number; results: ResultJson[] }> {
  const source = path.join(at.world.dir, `${name}.jsonl`);
  await writeFile(source, KEYS.map((key) => JSON.stringify(demo(key))).join('\n'));
  let child: ChildProcess;
  let starts = 0;
  let run = 0;
  at.proxy.answer = (request) => {
    if (!isStart(request) || !isMoment(++starts, run)) return null;
    child.kill('SIGKILL');
    if (reaches === 'server') return null;
    at.proxy.requests.splice(at.proxy.requests.lastIndexOf(request), 1);
    return 'cut';
  };
  for (let kills = 0; ; kills++) {
    run += 1;
    child = spawn(process.execPath, [BIN, 'batch', source], {
      env: { ...process.env, ...at.world.env, ACS_BASE_URL: at.proxy.url },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== null) return { kills, results: jsonLines<ResultJson>(out) };
  }
}

describe('a batch that is killed and started again', () => {
  it('starts each task once when the kill comes as the server receives a start', async () => {
    const { kills, results } = await runUntilEnded('received', (start) => start % 4 === 2, 'server');

    expect(kills).toBeGreaterThan(1);
    expect(at.starts().toSorted()).toEqual(KEYS.toSorted());
    expect(results.map(({ exit_code }) => exit_code)).toEqual(KEYS.map(() => 0));
  });

  it('starts each task once when the kill comes before the server receives the start', async () => {
    const { kills, results } = await runUntilEnded('unsent', (start, run) => run === 1 && start === 2, 'nothing');

    expect(kills).toBe(1);
    expect(at.starts().toSorted()).toEqual(KEYS.toSorted());
    expect(results.map(({ exit_code }) => exit_code)).toEqual(KEYS.map(() => 0));
  });
});
