import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { useWorld } from '../../support/use-world.ts';
import {
  endedRun,
  finish,
  git,
  makeRepository,
  makeUnrelated,
  replayFile,
  run,
} from './support.ts';

const at = useWorld({ api: 'v0', spec: 'process' });

it('conv pull exits 6 in a checkout of another repository over V0, where no commit is known', async () => {
  const seed = await makeRepository(path.join(at.dir, 'seed'));
  const file = await replayFile(at, 'pull.json', [run('echo new > new.txt'), finish('done')]);
  const id = await endedRun(at.world, '--repo', seed, '--replay', file);
  const unrelated = await makeUnrelated(path.join(at.dir, 'unrelated'));
  const err =
    `the conversation is on the repository ${seed}, at commit ` +
    `${(await git(seed, 'rev-parse', 'HEAD')).slice(0, 12)}`;
  await at.ends(`conv pull ${id}`, { cwd: unrelated, code: 6, err });
  expect(await git(unrelated, 'status', '--short')).toBe('');
  await git(seed, 'clone', '-q', seed, path.join(at.dir, 'clone'));
  await at.ends(`conv pull ${id}`, { cwd: path.join(at.dir, 'clone') });
});

it('conv diff over V0 leaves a changed file of Git LFS out by name', async () => {
  const lfs = await makeRepository(path.join(at.dir, 'lfs'));
  await writeFile(
    path.join(lfs, 'a.png'),
    `version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 4\n`,
  );
  await git(lfs, 'add', '.');
  await git(lfs, 'commit', '-q', '-m', 'a pointer');
  const file = await replayFile(at, 'lfs.json', [
    run('echo real > a.png; echo new > new.txt'),
    finish('done'),
  ]);
  const id = await endedRun(at.world, '--repo', lfs, '--replay', file);
  const { out } = await at.ends(`conv diff ${id}`, {
    err: 'left out: a.png: a file of Git LFS, which is not compared',
  });
  expect(out).toMatch(/^(?!.*a\.png)[^]*new\.txt/);
});
