import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Ended } from '../../support/world.ts';
import { looseTrap, type LooseTrap } from './trap.ts';

export interface CloneTrap extends LooseTrap {
  /** The clone: `main` is checked out, and its origin has `next` too. */
  clone: string;
  /** Runs `conv new` for that repository. */
  begin(...flags: string[]): Promise<Ended>;
}

export function git(cwd: string, ...args: string[]): void {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
  execFileSync('git', [...identity, ...args], { cwd, stdio: 'pipe' });
}

/** A loose server that has cloned a repository below the working directory of its agent. */
export async function cloneTrap(): Promise<CloneTrap> {
  const dir = await mkdtemp(path.join(tmpdir(), 'acs-clone-'));
  const origin = path.join(dir, 'origin');
  const workspace = path.join(dir, 'workspace');
  await mkdir(origin);
  await mkdir(workspace);
  git(origin, 'init', '-q');
  await writeFile(path.join(origin, 'README.md'), 'hello\n');
  git(origin, 'add', '.');
  git(origin, 'commit', '-q', '-m', 'first');
  git(origin, 'checkout', '-q', '-b', 'next');
  await writeFile(path.join(origin, 'next.md'), 'next\n');
  git(origin, 'add', '.');
  git(origin, 'commit', '-q', '-m', 'second');
  git(origin, 'checkout', '-q', 'main');
  git(workspace, 'clone', '-q', origin, 'demo');
  const trap = await looseTrap({ workspace });
  const { close } = trap;
  return Object.assign(trap, {
    clone: path.join(workspace, 'demo'),
    begin: (...flags: string[]) =>
      trap.acs('conv', 'new', 'hello', '--repo', 'team/demo', '--git-provider', 'github', '--json', ...flags),
    async close() {
      await close();
      await rm(dir, { recursive: true, force: true });
    },
  });
}
