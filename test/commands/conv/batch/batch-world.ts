/** `acs batch` against a real service, behind a server that records and may answer in its place. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect } from 'vitest';
import type { Asked } from '../../../support/server.ts';
import { useWorld, type Ending, type Suite } from '../../../support/use-world.ts';
import type { Ended, Invocation } from '../../../support/world.ts';
import { jsonLines } from '../support.ts';

export interface BatchEnding extends Ending, Omit<Invocation, 'args'> {
  /** The keys of the tasks whose start the command sent, in order: each message is its key. */
  starts?: readonly string[];
  /** One for each JSON line of stdout, by key. */
  results?: readonly object[];
}

export interface BatchSuite extends Suite {
  /**
   * Runs `acs batch tasks.jsonl` with these tasks, which has to end so. Requests of earlier
   * commands are forgotten.
   */
  batch(tasks: readonly (object | string)[], ending?: BatchEnding, line?: string): Promise<Ended>;
  /** As `starts` of an ending. */
  starts(): string[];
  /** The results file at this moment. */
  results(): Record<string, unknown>[];
  /** The text of its state at this moment; null without one. */
  stored(): string | null;
  journal(): Record<string, unknown>[];
  putJournal(text: string): void;
}

/** Members of a task that gets a sandbox of its own. */
export const ALONE = { sandbox: undefined };

/**
 * For the enclosing suite; each test has its own results file. With `oneSandbox` the tasks that
 * replay a run over V1 share it, except those that name another or are ALONE.
 */
export function useBatch({ oneSandbox = false } = {}): BatchSuite {
  const at = useWorld({ spec: 'process', oneSandbox });
  let tests = 0;
  beforeEach(() => void (tests += 1));
  const file = () => path.join(at.dir, `results-${tests}.jsonl`);
  const state = () => `${file()}.state`;
  const lineOf = (task: object | string) => {
    if (typeof task === 'string') return task;
    const isPlaced = 'replay' in task && !('api' in task);
    return JSON.stringify(isPlaced ? { sandbox: at.world.sandbox, ...task } : task);
  };
  const batch: Omit<BatchSuite, keyof Suite> = {
    async batch(tasks, { starts, results, ...ending } = {}, line = '') {
      at.server.asked.length = 0;
      const source = await at.file('tasks.jsonl', tasks.map(lineOf).join('\n'));
      const ended = await at.ends(
        ['batch', source, '-o', file(), ...line.split(' ').filter(Boolean)],
        ending,
      );
      if (starts !== undefined) expect(batch.starts()).toEqual(starts);
      if (results !== undefined) expect(resultsOf(ended)).toMatchObject(results);
      return ended;
    },
    starts: () => at.server.asked.filter(isStart).map(keyOf),
    results: () => jsonLines(readFileSync(file(), 'utf8')),
    stored: () => (existsSync(state()) ? readFileSync(state(), 'utf8') : null),
    journal: () => jsonLines(batch.stored() ?? ''),
    putJournal: (text) => writeFileSync(state(), text),
  };
  return Object.defineProperties(at, Object.getOwnPropertyDescriptors(batch)) as BatchSuite;
}

/** A task that replays the demo; its message is its key. */
export function demo(key: string, members: Record<string, unknown> = {}): Record<string, unknown> {
  return { key, message: key, replay: 'demo', 'no-repo': true, ...members };
}

export function resultsOf({ out }: Ended): Record<string, unknown>[] {
  return jsonLines<{ key: string }>(out).toSorted((one, other) => one.key.localeCompare(other.key));
}

export function isStart({ method, path: route }: Asked): boolean {
  return (
    method === 'POST' && (route === '/api/v1/app-conversations' || route === '/api/conversations')
  );
}

function keyOf({ body }: Asked): string {
  const { initial_message: message, initial_user_msg: text } = body as {
    initial_message?: { content: { text: string }[] };
    initial_user_msg?: string;
  };
  return text ?? message?.content[0]?.text ?? '';
}
