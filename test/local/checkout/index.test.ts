import os from 'node:os';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { branchOnRemote, readCheckout } from '../../../src/local/checkout/index.ts';
import { startRaw, untilTestEnds } from '../../support/server.ts';
import { until } from '../../support/test-clock.ts';

/** The folder of the file, and one in it for each test. */
const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-checkout-')));
let dir = '';
/** Has no configuration of the machine's user. */
const env = {
  PATH: process.env.PATH,
  HOME: base,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};
beforeEach(() => {
  dir = mkdtempSync(path.join(base, 'work-'));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

function git(dir: string, ...args: string[]): string {
  return execFileSync('git', args, {
    cwd: dir,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
}

function commit(dir: string, name: string): void {
  writeFileSync(path.join(dir, name), name);
  git(dir, 'add', name);
  git(dir, 'commit', '-q', '-m', name);
}

/** A bare repository and a clone of it with one commit that has been pushed. */
function cloned(): string {
  const origin = `${dir}-origin.git`;
  git(base, 'init', '-q', '--bare', '-b', 'main', origin);
  git(base, 'clone', '-q', origin, dir);
  git(dir, 'checkout', '-q', '-B', 'main');
  commit(dir, 'one');
  git(dir, 'push', '-q', '-u', 'origin', 'main');
  return origin;
}

describe('readCheckout', () => {
  it('returns null outside of git, in a bare repository, and in a missing folder', async () => {
    git(base, 'init', '-q', '--bare', `${dir}.git`);
    expect(await readCheckout(dir, { env })).toBeNull();
    expect(await readCheckout(`${dir}.git`, { env })).toBeNull();
    expect(await readCheckout(path.join(dir, 'missing'), { env })).toBeNull();
  });

  it('throws config when git is not installed', async () => {
    const noGit = { env: { PATH: '/nowhere' } };
    expect(await readCheckout(dir, noGit)).toBeNull();
    cloned();
    mkdirSync(path.join(dir, 'below'));
    for (const folder of [dir, path.join(dir, 'below')]) {
      await expect(readCheckout(folder, noGit)).rejects.toMatchObject({
        kind: 'config',
        message: `${dir} is a git checkout, but git is not installed`,
      });
    }
    expect(await readCheckout(path.join(dir, 'missing'), noGit)).toBeNull();
  });

  it('reads the checkout from a folder below its top', async () => {
    const origin = cloned();
    mkdirSync(path.join(dir, 'a', 'b'), { recursive: true });
    expect(await readCheckout(path.join(dir, 'a', 'b'), { env })).toEqual({
      root: dir,
      branch: 'main',
      head: git(dir, 'rev-parse', 'HEAD'),
      origin: { url: origin, host: null, repository: null, git_provider: null },
      unpushed: 0,
      dirty: false,
      submodules: [],
    });
  });

  it('returns a branch and no head without a commit', async () => {
    git(dir, 'init', '-q', '-b', 'start');
    expect(await readCheckout(dir, { env })).toEqual({
      root: dir,
      branch: 'start',
      head: null,
      origin: null,
      unpushed: null,
      dirty: false,
      submodules: [],
    });
  });

  it('lists unpushed commits, with and without an upstream', async () => {
    cloned();
    commit(dir, 'two');
    expect((await readCheckout(dir, { env }))?.unpushed).toBe(1);
    git(dir, 'checkout', '-q', '-b', 'new/branch');
    commit(dir, 'three');
    expect(await readCheckout(dir, { env })).toMatchObject({ branch: 'new/branch', unpushed: 2 });
    git(dir, 'remote', 'remove', 'origin');
    expect(await readCheckout(dir, { env })).toMatchObject({ origin: null, unpushed: null });
  });

  it('lists changed and untracked files, and no ignored ones', async () => {
    cloned();
    writeFileSync(path.join(dir, '.git', 'info', 'exclude'), 'ignored\n');
    writeFileSync(path.join(dir, 'ignored'), '');
    expect((await readCheckout(dir, { env }))?.dirty).toBe(false);
    writeFileSync(path.join(dir, 'new'), '');
    expect((await readCheckout(dir, { env }))?.dirty).toBe(true);
    rmSync(path.join(dir, 'new'));
    writeFileSync(path.join(dir, 'one'), 'changed');
    expect((await readCheckout(dir, { env }))?.dirty).toBe(true);
  });

  it('returns no branch with a detached HEAD', async () => {
    cloned();
    git(dir, 'checkout', '-q', '--detach');
    expect(await readCheckout(dir, { env })).toMatchObject({
      branch: null,
      head: git(dir, 'rev-parse', 'HEAD'),
    });
  });

  it('returns the work tree of a linked work tree', async () => {
    cloned();
    const tree = `${dir}-tree`;
    git(dir, 'worktree', 'add', '-q', '-b', 'side', tree);
    expect(await readCheckout(tree, { env })).toMatchObject({ root: tree, branch: 'side' });
  });

  it('returns the remote as git rewrites it, without credentials', async () => {
    git(dir, 'init', '-q');
    git(dir, 'remote', 'add', 'origin', 'gh:owner/name');
    git(dir, 'config', 'url.https://user:t0ken@github.com/.insteadOf', 'gh:');
    expect((await readCheckout(dir, { env }))?.origin).toEqual({
      url: 'https://github.com/owner/name',
      host: 'github.com',
      repository: 'owner/name',
      git_provider: 'github',
    });
  });

  it('resolves a relative remote against its top', async () => {
    git(dir, 'init', '-q');
    mkdirSync(path.join(dir, 'sub'));
    git(dir, 'remote', 'add', 'origin', '../other.git');
    expect((await readCheckout(path.join(dir, 'sub'), { env }))?.origin?.url).toBe(
      path.join(base, 'other.git'),
    );
  });

  it('reads the folder, also inside a hook of another repository', async () => {
    cloned();
    const other = `${dir}-other`;
    git(base, 'init', '-q', '-b', 'other', other);
    const hook = {
      ...env,
      GIT_DIR: path.join(other, '.git'),
      GIT_INDEX_FILE: path.join(other, '.git', 'index'),
    };
    expect(await readCheckout(dir, { env: hook })).toMatchObject({ root: dir, branch: 'main' });
  });

  it('reads the changes of the folder, and runs no filter, also with variables that change what git reads', async () => {
    cloned();
    const trace = `${dir}-trace`;
    writeFileSync(path.join(dir, '.git', 'info', 'attributes'), '* filter=planted\n');
    git(dir, 'config', 'filter.planted.clean', `touch ${trace}; cat`);
    writeFileSync(path.join(dir, 'new'), 'content\n');
    const variables = { GIT_LITERAL_PATHSPECS: '1', GIT_CONFIG: '/dev/null' };
    // git has to read the files again.
    utimesSync(path.join(dir, 'one'), 1, 1);
    expect(await readCheckout(dir, { env: { ...env, ...variables } })).toMatchObject({
      dirty: true,
    });
    expect(existsSync(trace)).toBe(false);
  });

  it('does not run the file system monitor of the repository', async () => {
    cloned();
    const trace = `${dir}-trace`;
    writeFileSync(path.join(dir, '.git', 'monitor'), `#!/bin/sh\ntouch ${trace}\n`, {
      mode: 0o755,
    });
    git(dir, 'config', 'core.fsmonitor', path.join(dir, '.git', 'monitor'));
    await readCheckout(dir, { env });
    expect(existsSync(trace)).toBe(false);
  });

  it('runs no filter of the repository, whatever its name', async () => {
    cloned();
    const trace = `${dir}-trace`;
    writeFileSync(path.join(dir, '.git', 'info', 'attributes'), '* filter=a=b\n');
    git(dir, 'config', 'filter.a=b.clean', `touch ${trace}; cat`);
    git(dir, 'config', 'filter.a=b.required', 'true');
    // git has to read the file again.
    utimesSync(path.join(dir, 'one'), 1, 1);
    expect((await readCheckout(dir, { env: { ...env, GIT_CONFIG_COUNT: '0' } }))?.dirty).toBe(
      false,
    );
    expect(existsSync(trace)).toBe(false);
  });

  it('rejects with the reason of the signal', async () => {
    cloned();
    const reason = new Error('stop');
    await expect(readCheckout(dir, { env, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
  });
});

describe('branchOnRemote', () => {
  it('compares the whole name of a branch', async () => {
    const origin = cloned();
    git(dir, 'push', '-q', 'origin', 'HEAD:refs/heads/x/refs/heads/tail');
    expect(await branchOnRemote('origin', 'main', { cwd: dir, env })).toEqual({ state: 'present' });
    expect(await branchOnRemote(origin, 'main', { cwd: base, env })).toEqual({ state: 'present' });
    expect(await branchOnRemote('origin', 'gone', { cwd: dir, env })).toEqual({ state: 'absent' });
    expect(await branchOnRemote('origin', 'tail', { cwd: dir, env })).toEqual({ state: 'absent' });
  });

  it('returns unknown when the remote cannot be read', async () => {
    const asked = await branchOnRemote(path.join(base, 'missing.git'), 'main', { cwd: base, env });
    expect(asked.state).toBe('unknown');
  });

  it('does not run a remote as a flag or a command', async () => {
    const trace = `${dir}-trace`;
    for (const remote of [`ext::sh -c "touch ${trace}"`, `--upload-pack=touch ${trace}`]) {
      expect((await branchOnRemote(remote, 'main', { cwd: base, env })).state).toBe('unknown');
    }
    expect(existsSync(trace)).toBe(false);
  });
});

describe('branchOnRemote', () => {
  it.runIf(existsSync('/proc')).each(['when its time is over', 'when it is interrupted'])(
    'leaves no process behind %s',
    async (when) => {
      const host = await untilTestEnds(startRaw(null));
      const remote = `${host.url}/silent.git`;
      const interruption = new AbortController();
      const timeoutMs = when === 'when its time is over' ? 1000 : 600_000;
      const asking = branchOnRemote(remote, 'main', {
        cwd: base,
        env,
        timeoutMs,
        signal: interruption.signal,
      });
      if (timeoutMs === 600_000) {
        await until(() => host.sockets.length > 0);
        // git, and its helper for such remotes
        expect(commandsThatName(remote).length).toBeGreaterThan(1);
        const reason = new Error('interrupted');
        interruption.abort(reason);
        await expect(asking).rejects.toBe(reason);
      } else {
        expect(await asking).toEqual({
          state: 'unknown',
          reason: 'the remote did not answer in time',
        });
      }
      await until(() => commandsThatName(remote).length === 0);
    },
  );

  it('does not prompt on the terminal, also over ssh', async () => {
    const written = path.join(base, 'ssh');
    const ssh = `echo "$SSH_ASKPASS_REQUIRE $SSH_ASKPASS" > ${written}; false`;
    const options = { cwd: base, env: { ...env, GIT_SSH_VARIANT: 'simple', GIT_SSH_COMMAND: ssh } };
    expect((await branchOnRemote('host:name.git', 'main', options)).state).toBe('unknown');
    expect(readFileSync(written, 'utf8')).toBe('force false\n');
  });
});

/** Command lines of living processes with this word in them. */
function commandsThatName(word: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(commandOf).filter((command) => command.includes(word));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
