import * as v from 'valibot';
import { expect, it } from 'vitest';
import { frame, resultSchema } from '../../../src/service/isolation/frames.ts';
import type { Operation, Operations } from '../../../src/service/isolation/protocol.ts';

function accepts<K extends Operation>(op: K, takes: Operations[K]['takes'], result: unknown): boolean {
  return v.is(resultSchema(op, takes), result);
}

const EDIT = { command: 'view', path: 'a', cwd: '/' } as const;
const EDITED = { text: '', isError: false, path: '/a', previouslyExisted: true, oldContent: null, newContent: null };
const CHUNK = { path: 'a', token: 't', offset: 0, length: 4 };
const base64 = (size: number): string => Buffer.alloc(size).toString('base64');

it('a result of each operation is accepted in its own shape alone', () => {
  expect(accepts('edit', EDIT, EDITED)).toBe(true);
  expect(accepts('edit', EDIT, { ...EDITED, path: 'a' })).toBe(false);
  expect(accepts('edit', EDIT, { ...EDITED, oldContent: 7 })).toBe(false);
  expect(accepts('home', {}, { home: '/root' })).toBe(true);
  expect(accepts('home', {}, { home: 'root' })).toBe(false);
  expect(accepts('kill', { run: 1 }, {})).toBe(true);
  expect(accepts('kill', { run: 1 }, { more: 1 })).toBe(false);
});

it('a chunk is accepted up to the requested length', () => {
  expect(accepts('read', CHUNK, { data: base64(4), size: 4 })).toBe(true);
  expect(accepts('read', CHUNK, { data: base64(3), size: 3 })).toBe(true);
  expect(accepts('read', CHUNK, { data: base64(7), size: 7 })).toBe(false);
  expect(accepts('read', { ...CHUNK, length: 0 }, { data: base64(1), size: 1 })).toBe(false);
  expect(accepts('read', CHUNK, { data: base64(4), size: Number.MAX_SAFE_INTEGER + 1 })).toBe(false);
});

it('a change of git has one of the four statuses', () => {
  const asked = { path: '/', ref: null };
  expect(accepts('git_changes', asked, { changes: [{ status: 'MOVED', path: 'a' }] })).toBe(true);
  expect(accepts('git_changes', asked, { changes: [{ status: 'COPIED', path: 'a' }] })).toBe(false);
  expect(accepts('git_diff', asked, { original: null, modified: '' })).toBe(true);
  expect(accepts('git_diff', asked, { original: null })).toBe(false);
  expect(accepts('git_delta', asked, { patch: 'x' })).toBe(true);
});

it('a folder of the helper is absolute and at most 64 KiB long', () => {
  const hello = (workingDir: string) => v.is(frame, { type: 'hello', workingDir });
  expect([hello('/w'), hello('w'), hello(`/${'x'.repeat(64 * 1024)}`)]).toEqual([true, false, false]);
});
