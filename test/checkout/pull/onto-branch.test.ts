import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { createRetriever } from '../../../src/checkout/pull/index.ts';
import type { OntoBranch } from '../../../src/checkout/pull/onto-branch.ts';
import { git } from '../../support/patch-matrix.ts';
import { PROCESS, usePlace } from './support.ts';

const place = usePlace('printf "one\\ntwo\\nthree\\n" >a.txt');

const asked = (patch: Uint8Array, more: Partial<OntoBranch> = {}): OntoBranch => ({
  root: place.root,
  patch,
  branch: 'agent/work',
  base: null,
  message: 'Repaired it.\n\n# A heading\n',
  dryRun: false,
  threeWay: false,
  ...more,
});
const branches = () => git(place.root, 'branch', '--format=%(refname:short)');

describe('a pull onto a branch', () => {
  it('commits on the commit that the run started from, and leaves index, files and current branch', async () => {
    const base = git(place.root, 'rev-parse', 'HEAD');
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');
    writeFileSync(path.join(place.root, 'a.txt'), 'quite other\n');
    git(place.root, 'commit', '-qam', 'other');
    writeFileSync(path.join(place.root, 'a.txt'), 'uncommitted\n');

    const { commit, files } = await place.retriever.ontoBranch(asked(patch, { base }));

    expect(files).toEqual(['a.txt']);
    expect(git(place.root, 'rev-parse', 'agent/work', 'agent/work^')).toBe(`${commit}\n${base}`);
    expect(git(place.root, 'log', '-1', '--format=%B', 'agent/work').trimEnd()).toBe('Repaired it.\n\n# A heading');
    expect(git(place.root, 'show', 'agent/work:a.txt')).toBe('one\nTWO\nthree');
    expect(git(place.root, 'status', '--short', '--branch')).toBe('## main\n M a.txt');
  });

  it('commits on HEAD when the checkout does not have that commit', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');

    const { commit } = await place.retriever.ontoBranch(asked(patch, { base: 'f'.repeat(40) }));

    expect(git(place.root, 'rev-parse', `${commit}^`)).toBe(git(place.root, 'rev-parse', 'main'));
  });

  it.each([false, true])('makes no branch when the changes do not fit (--3way %s)', async (threeWay) => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');
    writeFileSync(path.join(place.root, 'a.txt'), 'one\nzwei\nthree\n');
    git(place.root, 'commit', '-qam', 'other');

    await expect(place.retriever.ontoBranch(asked(patch, { threeWay }))).rejects.toMatchObject({ kind: 'conflict' });

    expect(branches()).toBe('main');
  });

  it('makes no branch in a dry run, nor for changes that are none', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');

    expect((await place.retriever.ontoBranch(asked(patch, { dryRun: true }))).files).toEqual(['a.txt']);
    expect((await place.retriever.ontoBranch(asked(new Uint8Array()))).commit).toBeNull();
    expect(branches()).toBe('main');
  });

  it('does not replace a branch that another process made meanwhile', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');
    git(place.root, 'branch', 'agent/work');

    await expect(place.retriever.ontoBranch(asked(patch))).rejects.toMatchObject({ kind: 'conflict' });

    expect(git(place.root, 'rev-parse', 'agent/work')).toBe(git(place.root, 'rev-parse', 'main'));
  });

  it('names the missing author', async () => {
    const patch = place.patchOf('sed -i s/two/TWO/ a.txt');
    const env = { PATH: process.env.PATH, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null', EMAIL: '' };
    git(place.root, 'config', 'user.useConfigOnly', 'true');

    await expect(createRetriever({ ...PROCESS, env }).ontoBranch(asked(patch))).rejects.toMatchObject({
      kind: 'config',
      details: { hint: expect.stringContaining('user.email') as string },
    });
  });
});

describe('the check of a branch name', () => {
  it('accepts a free name and refuses one that exists or that git does not take', async () => {
    const check = (name: string) => place.retriever.checkBranch(place.root, name);

    await check('agent/work');
    await expect(check('main')).rejects.toMatchObject({ kind: 'conflict' });
    for (const name of ['', '-x', 'a..b', '@{-1}', 'a b'])
      await expect(check(name)).rejects.toMatchObject({ kind: 'usage' });
  });
});
