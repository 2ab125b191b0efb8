/** An emitter over streams that are kept, as a terminal of so many columns or as a pipe. */
import { createEmitter, type Emitter } from '../../src/output/emit.ts';
import type { View } from '../../src/output/view.ts';
import type { EmitterSettings } from '../../src/output/emitter-options.ts';

export const NOW = Date.parse('2026-03-01T12:00:00Z');

export interface Captured {
  emitter: Emitter;
  out(): string;
  err(): string;
}

/** @param columns of a terminal; undefined is a pipe */
export function capture(globals: EmitterSettings = {}, columns?: number, cwd?: string): Captured {
  const out: Buffer[] = [];
  let err = '';
  const emitter = createEmitter({
    io: {
      stdout: {
        write: (chunk) => {
          out.push(Buffer.from(chunk));
          return Promise.resolve();
        },
        isTTY: columns !== undefined,
        columns,
      },
      stderr: {
        write: (chunk) => {
          err += chunk;
          return Promise.resolve();
        },
      },
    },
    globals,
    cwd,
    now: () => NOW,
  });
  return { emitter, out: () => Buffer.concat(out).toString('utf8'), err: () => err };
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
