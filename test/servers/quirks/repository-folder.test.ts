import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { looseTrap, type LooseTrap } from '../../traps/support/trap.ts';

let trap: LooseTrap;
afterEach(() => trap.close());
const onlyId = (): string => [...trap.conversations.keys()].join();

describe('a repository that is cloned below the working directory', () => {
  let dir: string;
  let workspace: string;
  const git = (cwd: string, ...args: string[]): void => {
    const identity = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'init.defaultBranch=main'];
    execFileSync('git', [...identity, ...args], { cwd, stdio: 'pipe' });
  };

  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'acs-clone-'));
    const origin = path.join(dir, 'origin');
    workspace = path.join(dir, 'workspace');
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
    trap = await looseTrap({ workspace });
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  const begin = (...flags: string[]) =>
    trap.acs('conv', 'new', 'hello', '--repo', 'team/demo', '--git-provider', 'github', '--json', ...flags);

  it('is found there, and conv diff shows the changes in it', async () => {
    const { code, err } = await begin();
    expect(code, err).toBe(0);
    await writeFile(path.join(workspace, 'demo', 'work.md'), 'the work\n');
    const diff = await trap.acs('conv', 'diff', onlyId());
    expect(diff, diff.err).toMatchObject({ code: 0 });
    expect(diff.out).toContain('+the work');
    expect(diff.out).toContain('b/work.md');
  });

  it('is missing when there is no clone', async () => {
    await rm(path.join(workspace, 'demo'), { recursive: true });
    const { code, err } = await begin();
    expect(code).toBe(5);
    expect(err).toContain('did not arrive');
  });
});
