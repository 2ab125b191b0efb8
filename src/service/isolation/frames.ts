/**
 * What the worker accepts from the helper inside a sandbox. A command can stop the helper, end it, or write to its
 * output: each frame is checked by its shape, its size and its place before anything of it is used.
 */
import * as v from 'valibot';
import type { Operation, Operations, RunParameters } from './protocol.ts';

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
/** Longer than any path of the kernel: a client may name one that does not exist. */
const LONGEST_PATH = 64 * 1024;
const folder = v.pipe(v.string(), v.startsWith('/'), v.maxLength(LONGEST_PATH));
const nothing = v.strictObject({});
const textOrNull = v.nullable(v.string());
const patch = v.strictObject({ patch: v.string() });

export const frame = v.variant('type', [
  v.strictObject({ type: v.literal('hello'), workingDir: folder }),
  v.strictObject({ type: v.literal('output'), id: count, stream: v.picklist(['stdout', 'stderr']), text: v.string() }),
  v.strictObject({ type: v.literal('result'), id: count, result: v.unknown() }),
  v.strictObject({
    type: v.literal('failure'),
    id: count,
    failure: v.strictObject({
      code: v.picklist(['not-found', 'not-a-file', 'too-large', 'invalid', 'unsupported', 'failed']),
      message: v.string(),
    }),
  }),
]);

export type Frame = v.InferOutput<typeof frame>;

type ResultSchema<K extends Operation> = v.GenericSchema<unknown, Operations[K]['gives']>;

const results: { [K in Operation]: (takes: Operations[K]['takes']) => ResultSchema<K> } = {
  run: (takes) =>
    v.strictObject({
      exitCode: exitCode(-1),
      killed: v.boolean(),
      stdout: output(takes),
      stderr: output(takes),
      cwd: folder,
      pid: v.pipe(v.number(), v.safeInteger(), v.minValue(-1)),
    }),
  kill: () => nothing,
  exec: () => v.strictObject({ exitCode: exitCode(0) }),
  exec_write: () => nothing,
  exec_more: () => nothing,
  exec_signal: () => nothing,
  exec_resize: () => nothing,
  ping: () => nothing,
  edit: () =>
    v.strictObject({
      text: v.string(),
      isError: v.boolean(),
      path: folder,
      previouslyExisted: v.boolean(),
      oldContent: textOrNull,
      newContent: textOrNull,
    }),
  read: ({ length }) =>
    v.strictObject({ data: v.pipe(v.string(), v.base64(), v.maxLength(4 * Math.ceil(length / 3))), size: count }),
  write: () => nothing,
  home: () => v.strictObject({ home: folder }),
  git_changes: () =>
    v.strictObject({
      changes: v.array(
        v.strictObject({ status: v.picklist(['MOVED', 'ADDED', 'DELETED', 'UPDATED']), path: v.string() }),
      ),
    }),
  git_diff: () => v.strictObject({ original: textOrNull, modified: textOrNull }),
  git_delta: () => patch,
};

function exitCode(least: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(255));
}

/** One stream of a command: its kept beginning and end and a line between, or a refusal that names a path. */
function output({ keepHead, keepTail }: RunParameters) {
  return v.pipe(v.string(), v.maxLength(keepHead + keepTail + LONGEST_PATH));
}

/** What a result of this operation must be like. */
export function resultSchema<K extends Operation>(op: K, takes: Operations[K]['takes']): ResultSchema<K> {
  return results[op](takes);
}
