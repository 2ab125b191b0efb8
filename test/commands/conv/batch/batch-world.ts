/** `acs batch` against a real service, through a proxy that records and may answer in its place. */
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach } from 'vitest';
import type { RecordedRequest } from '../../../support/recording-proxy.ts';
import { useProxiedWorld, type ProxiedWorld } from '../../../support/proxied-world.ts';
import type { Ended, Invocation } from '../../../support/world.ts';
import { jsonLines } from '../support.ts';

export interface ResultJson {
  key: string;
  id: string | null;
  status: string;
  exit_code: number;
  reason: { code: string; text: string } | null;
  attempts: number;
}

export interface BatchWorld extends Pick<ProxiedWorld, 'world' | 'proxy'> {
  /** Runs `acs batch tasks.jsonl` with these tasks. */
  batch: (tasks: readonly unknown[], args?: readonly string[], rest?: Partial<Invocation>) => Promise<Ended>;
  /** The keys of the tasks whose start was sent, in order: each message is its key. */
  starts: () => string[];
  /** The lines of the results file. */
  journal: () => Promise<Record<string, unknown>[]>;
  /** Its text at this moment. */
  journalNow: () => string;
  /** Writes the results file. */
  putJournal: (text: string) => Promise<void>;
}

/** A world for the enclosing suite; each test has its own results file. */
export function useBatchWorld(api: 'v0' | 'v1' | 'both' = 'both'): BatchWorld {
  const at = useProxiedWorld('batch', { spec: 'process', api });
  let tests = 0;
  beforeEach(() => {
    tests += 1;
    at.proxy.answer = () => null;
  });
  const file = () => path.join(at.world.dir, `results-${tests}.jsonl`);
  return {
    get world() {
      return at.world;
    },
    get proxy() {
      return at.proxy;
    },
    async batch(tasks, args = [], rest = {}) {
      const source = path.join(at.world.dir, 'tasks.jsonl');
      await writeFile(source, tasks.map((task) => (typeof task === 'string' ? task : JSON.stringify(task))).join('\n'));
      return await at.world.invoke({
        args: ['batch', source, '-o', file(), ...args],
        ...rest,
        env: { ACS_BASE_URL: at.proxy.url, ...rest.env },
      });
    },
    starts: () => at.proxy.writes().filter(isStart).map(keyOf),
    journal: async () => jsonLines(await readFile(file(), 'utf8')),
    journalNow: () => readFileSync(file(), 'utf8'),
    putJournal: (text) => writeFile(file(), text),
  };
}

/** A task that replays the demo; its message is its key. */
export function demo(key: string, members: Record<string, unknown> = {}): Record<string, unknown> {
  return { key, message: key, replay: 'demo', 'no-repo': true, ...members };
}

export function results({ out }: Ended): ResultJson[] {
  return jsonLines<ResultJson>(out).toSorted((one, other) => one.key.localeCompare(other.key));
}

export function isStart({ method, path: route }: RecordedRequest): boolean {
  return method === 'POST' && (route === '/api/v1/app-conversations' || route === '/api/conversations');
}

function keyOf({ body }: RecordedRequest): string {
  const { initial_message: message, initial_user_msg: text } = body as {
    initial_message?: { content: { text: string }[] };
    initial_user_msg?: string;
  };
  return text ?? message?.content[0]?.text ?? '';
}
