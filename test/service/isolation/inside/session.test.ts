import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { carryOver, ownEnvironment, script } from '../../../../src/service/isolation/inside/session.ts';
import { RUN } from '../support.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'acs-session-'));
afterAll(() => rmSync(dir, { recursive: true }));

const WISH = { ...RUN, session: 's' };
const before = () => ({ cwd: '/first', env: { KEPT: 'yes' } });

/** The session after a shell has written this. */
function after(note: string | null): ReturnType<typeof before> {
  const session = before();
  const file = path.join(dir, 'state');
  rmSync(file, { force: true });
  if (note !== null) writeFileSync(file, note);
  carryOver(session, file);
  return session;
}

it('the state of a shell is its folder and its variables, whose values may have any characters', () => {
  expect(after('/there\0A=1\0B=x=y\nz\0EMPTY=\0')).toEqual({ cwd: '/there', env: { A: '1', B: 'x=y\nz', EMPTY: '' } });
});

it.each<[string, string | null]>([
  ['missing', null],
  ['empty', ''],
  ['cut within the folder', '/the'],
  ['without variables', '/there\0'],
  ['with a relative folder', 'there\0A=1\0'],
])('a state that is %s changes nothing', (_, note) => {
  expect(after(note)).toEqual(before());
});

it('a variable that is cut or without a name is left out', () => {
  expect(after('/there\0A=1\0=nameless\0noequals\0B=cu')).toEqual({ cwd: '/there', env: { A: '1' } });
});

it('a command above 100000 bytes is in a file that only its owner can read', () => {
  const files = { state: path.join(dir, 'state'), command: path.join(dir, 'command') };
  expect(script({ ...WISH, command: 'x'.repeat(100_000) }, files)).toContain('x'.repeat(100_000));
  const long = script({ ...WISH, command: 'ü'.repeat(50_001) }, files);
  expect(long.endsWith(`; . '${files.command}'`)).toBe(true);
  const { size, mode } = statSync(files.command);
  expect([size, mode & 0o777]).toEqual([100_002, 0o600]);
});

it('a new session has the environment of this process', () => {
  expect(ownEnvironment()['PATH']).toBe(process.env['PATH']);
});
