/** An emitter over streams that are kept, as a terminal of so many columns or as a pipe. */
import { NO_COLORS } from '../../src/base/text/notice.ts';
import { Emitter, type OutputFlags } from '../../src/output/emit.ts';
import type { View } from '../../src/output/view.ts';

export const NOW = Date.parse('2026-03-01T12:00:00Z');

export interface Captured {
  emitter: Emitter;
  out(): string;
  err(): string;
  bytes(): Buffer;
}

type Options = ConstructorParameters<typeof Emitter>[0];

/** @param columns of a terminal; undefined is a pipe */
export function capture(
  globals: OutputFlags = {},
  columns?: number,
  more: Omit<Partial<Options>, 'globals'> = {},
): Captured {
  const written = { out: [] as Buffer[], err: [] as Buffer[] };
  const stream = (name: 'out' | 'err') => ({
    write: (chunk: string | Uint8Array) =>
      Promise.resolve(void written[name].push(Buffer.from(chunk))),
    isTTY: columns !== undefined,
    columns,
  });
  const emitter = new Emitter({
    io: { stdout: stream('out'), stderr: stream('err') },
    globals,
    now: () => NOW,
    cwd: '.',
    jq: { file: '', signal: new AbortController().signal },
    palette: () => Promise.resolve(NO_COLORS),
    redact: (text) => text,
    isRedacted: () => false,
    ...more,
  });
  const bytes = (): Buffer => Buffer.concat(written.out);
  return {
    emitter,
    bytes,
    out: () => bytes().toString('utf8'),
    err: () => Buffer.concat(written.err).toString('utf8'),
  };
}

export interface Task {
  id: string;
  title: string | null;
  status: string;
  cost_usd: number | null;
  labels: string[];
  created_at: string;
}

export const taskView: View<Task> = {
  noun: 'task',
  id: (task) => task.id,
  fields: [
    { name: 'id', get: (task) => task.id, as: 'id', weight: 0 },
    { name: 'title', get: (task) => task.title, weight: 3 },
    { name: 'status', get: (task) => task.status, as: 'status', weight: 0 },
    { name: 'cost_usd', get: (task) => task.cost_usd, as: 'usd' },
    { name: 'labels', get: (task) => task.labels },
    { name: 'created_at', get: (task) => task.created_at, as: 'time', weight: 0 },
  ],
  table: ['id', 'title', 'status', 'created_at'],
  tsv: ['id', 'title', 'status', 'cost_usd', 'labels', 'created_at'],
  record: (task) => ({ ...task, beyond: true }),
  line: (task) => [{ text: task.status, tone: 'dim' }, { text: ' ' }, { text: task.title ?? '' }],
};

export const TASKS: Task[] = [
  {
    id: '3f2504e04f8941d39a0c0305e82c3301',
    title: 'Repair the parser of 日本語 dates 👩‍👩‍👧‍👦 and explain what was wrong with it',
    status: 'running',
    cost_usd: 0.0042,
    labels: ['bug', 'a,b'],
    created_at: '2026-03-01T11:56:59.123456',
  },
  {
    id: '3f2504e04f8a41d39a0c0305e82c3302',
    title: 'e\u0301vil \x1b[2J\u009b31m \u202egpj.exe\ttab\nline \\ end',
    status: 'failed',
    cost_usd: null,
    labels: [],
    created_at: '2025-12-24T00:00:00Z',
  },
];
