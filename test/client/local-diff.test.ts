/**
 * The difference of a workspace of the local service. What each dialect returns of it:
 * test/contract.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { git } from '../support/patch-matrix.ts';
import { useWorld } from '../support/use-world.ts';

const at = useWorld({ api: 'v1' });
let repository: string;

beforeAll(async () => {
  repository = path.join(at.dir, 'origin');
  await mkdir(repository);
  git(repository, 'init', '-q', '-b', 'main');
  await writeFile(path.join(repository, 'tool.sh'), '#!/bin/sh\n');
  git(repository, 'add', '.');
  git(repository, 'commit', '-q', '-m', 'first');
});

/**
 * The patch of a run of this command in a clone, what it leaves out, and a copy that git has
 * applied it to.
 */
async function changedBy(command: string, origin = repository) {
  const replay = await at.file('replay.json', [
    { id: 0, source: 'agent', action: 'run', args: { command } },
    { id: 1, source: 'agent', action: 'finish', args: { final_thought: 'all done' } },
  ]);
  const start = ['conv', 'new', '--repo', origin, '--replay', replay, '--wait'];
  const { id } = await at.json<{ id: string }>(start);
  const { bytes, err } = await at.ends(`conv diff ${id}`, {});
  const copy = path.join(at.dir, `copy-${id}`);
  git(at.dir, 'clone', '-q', origin, copy);
  await writeFile(path.join(at.dir, 'patch'), bytes);
  if (bytes.length > 0) git(copy, 'apply', '--index', path.join(at.dir, 'patch'));
  return { bytes, err, copy, changes: git(copy, 'diff', '--cached', '--name-status').trim() };
}

describe('conv diff of the local service', () => {
  it('is a patch that git applies, whatever the configuration of git in the workspace', async () => {
    const settings = [
      ['diff.noprefix', 'true'],
      ['diff.mnemonicPrefix', 'true'],
      ['diff.context', '0'],
      ['diff.orderFile', '/nowhere'],
      ['diff.external', '/bin/false'],
      ['diff.ignoreSubmodules', 'all'],
      ['color.diff', 'always'],
      ['core.autocrlf', 'true'],
      ['core.safecrlf', 'true'],
    ];
    const configure = settings.map(([name, value]) => `git config ${name} ${value}`).join(' && ');
    const nested =
      'git init -q lib && git -C lib -c user.name=a -c user.email=a@b commit -q ' +
      '--allow-empty -m first';
    const { err, copy, changes } = await changedBy(
      `echo "echo more" >> tool.sh; ${nested}; ${configure}`,
    );
    expect([changes, await readFile(path.join(copy, 'tool.sh'), 'utf8')]).toEqual([
      'M\ttool.sh',
      '#!/bin/sh\necho more\n',
    ]);
    expect(err).toContain('lib: a nested git repository, whose files are not compared');
  });

  it('is complete when it is longer than the output of one command may be', async () => {
    const bytes = 9 * 1024 * 1024;
    const { copy, changes } = await changedBy(`head -c ${bytes} /dev/urandom > large.bin`);
    expect(changes).toBe('A\tlarge.bin');
    expect((await readFile(path.join(copy, 'large.bin'))).length).toBe(bytes);
  });

  it('names the submodules in which files were changed and not committed', async () => {
    const above = path.join(at.dir, 'with-submodules');
    git(at.dir, 'clone', '-q', repository, above);
    const commit = git(above, 'rev-parse', 'HEAD').trim();
    for (const name of ['edited', 'empty', 'filled', 'untouched'])
      git(above, 'update-index', '--add', '--cacheinfo', `160000,${commit},${name}`);
    git(above, 'commit', '-q', '-m', 'submodules');
    const checkedOut = (name: string) =>
      `git clone -q . ${name}; git -C ${name} checkout -q ${commit};`;
    const change = 'echo more >> edited/tool.sh; echo > filled/new';
    const { bytes, err } = await changedBy(
      `${checkedOut('edited')} ${checkedOut('untouched')} ${change}`,
      above,
    );
    expect(bytes).toHaveLength(0);
    const named = [...err.matchAll(/(\w+): a submodule with uncommitted changes/g)].map(
      ([, name]) => name,
    );
    expect(named).toEqual(['edited', 'filled']);
  });
});
