import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { ID, put, tree, useCopyWorld } from './support.ts';

const at = useCopyWorld();

const leftOut = (err: string): string[] =>
  [...err.matchAll(/^warning: left out: (.*): git would run it, or programs that it names$/gm)].map(
    ([, name]) => name ?? '',
  );

/** What git keeps of a repository, with programs. */
const REPOSITORY = {
  HEAD: 'ref: refs/heads/config',
  'refs/heads/config': 'a commit',
  'objects/aa/hooks': 'an object',
  config: 'of the agent',
  'config.worktree': 'of the agent',
  commondir: '../elsewhere',
  'hooks/pre-commit': 'of the agent',
  'info/attributes': 'of the agent',
  'info/exclude': 'data',
  'rebase-merge/git-rebase-todo': 'exec of the agent',
};
const PROGRAMS = [
  'commondir',
  'config',
  'config.worktree',
  'hooks',
  'info/attributes',
  'rebase-merge',
];
const below = (folder: string, files: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]),
  );
const namesBelow = (folder: string) => PROGRAMS.map((name) => `${folder}/${name}`);

beforeEach(() => put(at.here, { '.git/config': 'mine', '.git/hooks/pre-commit': 'mine' }));

describe('sandbox cp leaves out by name what git would run:', () => {
  it('of a repository, one in a submodule, a bare one of any name, and where a .git is a file or a link', async () => {
    put(at.box, {
      ...below('repo/.git', REPOSITORY),
      ...below('repo/.git/modules/sub', REPOSITORY),
      ...below('repo/vendor/.GIT', { config: 'of the agent' }),
      ...below('repo/bare', { ...REPOSITORY, commondir: '' }),
      'repo/.git/worktrees/x/config.worktree': 'of the agent',
      'repo/.git/worktrees/x/commondir': '../..',
      'repo/sub/.git': 'gitdir: ../bare',
      'repo/split/HEAD': 'ref: refs/heads/main',
      'repo/split/commondir': '../other',
      'repo/config/hooks/file': 'content',
      'repo/.gitattributes': '* text',
      'repo/file': 'content',
    });
    symlinkSync('bare', path.join(at.box, 'repo/linked'));
    mkdirSync(path.join(at.box, 'repo/deep'));
    symlinkSync('../bare', path.join(at.box, 'repo/deep/.git'));
    const { code, err, out } = await at.cp(`${ID}:repo/.`, '.');
    expect(code, err).toBe(0);
    expect(leftOut(err).sort()).toEqual(
      [
        ...namesBelow('.git'),
        ...namesBelow('.git/modules/sub'),
        '.git/worktrees/x/commondir',
        '.git/worktrees/x/config.worktree',
        ...namesBelow('bare'),
        'deep/.git',
        'split/commondir',
        'sub/.git',
        'vendor/.GIT/config',
      ].sort(),
    );
    const copied = tree(at.here);
    expect(copied).toMatchObject({
      '.git/config': 'mine',
      '.git/hooks/pre-commit': 'mine',
      '.git/refs/heads/config': 'a commit',
      '.git/modules/sub/refs/heads/config': 'a commit',
      '.git/objects/aa/hooks': 'an object',
      '.git/info/exclude': 'data',
      'bare/refs/heads/config': 'a commit',
      'config/hooks/file': 'content',
      '.gitattributes': '* text',
      file: 'content',
    });
    expect(Object.values(copied)).not.toContain('of the agent');
    // Of these files: 2 of this folder that stay, none of those that were left out.
    const files = Object.entries(copied).filter(([name]) => !name.endsWith('/')).length - 2;
    expect(out.split('\t')[2]).toBe(String(files));
  });

  it('also when a repository or its hooks are what is copied, into a new or a present folder', async () => {
    put(at.box, below('repo/.git', REPOSITORY));
    const whole = await at.cp(`${ID}:repo/.git`, 'copy');
    expect([whole.code, leftOut(whole.err).sort()]).toEqual([0, PROGRAMS]);
    for (const [from, to, names] of [
      ['repo/.git/.', '.git', PROGRAMS],
      ['repo/.git/hooks', '.git', ['pre-commit']],
      ['repo/.git/hooks/.', '.git/hooks', ['pre-commit']],
    ] as const) {
      const { code, err } = await at.cp(`${ID}:${from}`, to);
      expect([code, leftOut(err).sort()]).toEqual([0, names]);
    }
    expect(tree(at.here)).toMatchObject({ '.git/config': 'mine', '.git/hooks/pre-commit': 'mine' });
    expect(existsSync(path.join(at.here, 'copy/hooks'))).toBe(false);
  });

  it('under each name that a file system reads as the same, and where HEAD is a link to a branch without commits', async () => {
    const odd = [
      'a/.git/hooks. ',
      'b/.git/HOOKS::$INDEX_ALLOCATION',
      'c/.g\ufeffit/hooks',
      'd/.git/info /attributes.',
    ];
    put(at.box, Object.fromEntries(odd.map((name) => [`repo/${name}`, 'of the agent'])));
    put(
      at.box,
      below('repo/bare', { config: 'of the agent', 'objects/file': '', 'refs/file': '' }),
    );
    symlinkSync('refs/heads/main', path.join(at.box, 'repo/bare/HEAD'));
    const { code, err } = await at.cp(`${ID}:repo/.`, '.');
    expect([code, leftOut(err).sort()]).toEqual([
      0,
      [...odd.map((name) => name.replace('\ufeff', '\\ufeff')), 'bare/config'].sort(),
    ]);
  });

  it('a single file is refused where git would run it, and copied under another name', async () => {
    put(at.box, below('repo/.git', REPOSITORY));
    const refused = await at.cp(`${ID}:repo/.git/config`, '.git/config');
    expect(refused).toMatchObject({
      code: 6,
      err: expect.stringContaining('git would run it') as string,
    });
    expect(await at.cp(`${ID}:repo/.git/config`, 'their-config')).toMatchObject({ code: 0 });
    expect(tree(at.here)).toMatchObject({ '.git/config': 'mine', 'their-config': 'of the agent' });
  });
});
