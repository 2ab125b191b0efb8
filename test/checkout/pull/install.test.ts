import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FileMove, install, isUnfinished, undo } from '../../../src/checkout/pull/install.ts';

let dir: string;
let root: string;
let stage: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'acs-install-'));
  [root, stage] = [path.join(dir, 'root'), path.join(dir, 'stage')];
  mkdirSync(root);
  mkdirSync(path.join(stage, 'new'), { recursive: true });
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (folder: string, name: string, text: string): void => {
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  writeFileSync(path.join(folder, name), text);
};

/** Files with their text, folders with a slash. */
function tree(folder: string, below = ''): string[] {
  return readdirSync(path.join(folder, below))
    .sort()
    .flatMap((entry) => {
      const name = path.join(below, entry);
      if (!statSync(path.join(folder, name)).isDirectory())
        return [`${name}=${readFileSync(path.join(folder, name), 'latin1')}`];
      return [`${name}/`, ...tree(folder, name)];
    });
}

const added = (name: string): FileMove => ({ path: name, removes: false, adds: true });
const changed = (name: string): FileMove => ({ path: name, removes: true, adds: true });
const deleted = (name: string): FileMove => ({ path: name, removes: true, adds: false });

describe('install', () => {
  it('replaces, adds and deletes files, and removes folders that are empty then', () => {
    put(root, 'a', 'old');
    put(root, 'gone/deep/x', 'x');
    put(stage, 'new/a', 'new');
    put(stage, 'new/made/b', 'b');

    install({ root, stage, moves: [changed('a'), deleted('gone/deep/x'), added('made/b')] });

    expect(tree(root)).toEqual(['a=new', 'made/', 'made/b=b']);
  });

  it('makes a folder of a file, and a file of a folder', () => {
    put(root, 'was-file', 'f');
    put(root, 'was-folder/x', 'x');
    put(stage, 'new/was-file/inner', 'i');
    put(stage, 'new/was-folder', 'w');

    install({
      root,
      stage,
      moves: [deleted('was-file'), added('was-file/inner'), added('was-folder'), deleted('was-folder/x')],
    });

    expect(tree(root)).toEqual(['was-file/', 'was-file/inner=i', 'was-folder=w']);
  });

  it('takes names in any encoding', () => {
    put(stage, 'new/ok', 'x');
    writeFileSync(Buffer.concat([Buffer.from(`${stage}/new/`), Buffer.from([0xe9, 0xff])]), 'bytes');

    install({ root, stage, moves: [added('\u00e9\u00ff')] });

    expect(readdirSync(root, { encoding: 'buffer' })).toEqual([Buffer.from([0xe9, 0xff])]);
  });

  it.each([0, 1, 2, 3, 4, 5])('undoes everything when file %i of six cannot be moved', (failing) => {
    const moves = Array.from({ length: 6 }, (_, index) =>
      index % 2 === 0 ? changed(`c${index}`) : added(`deep/n${index}`),
    );
    moves.forEach((move, index) => {
      if (move.removes) put(root, move.path, 'old');
      if (index !== failing) put(stage, `new/${move.path}`, 'new');
    });
    const before = tree(root);

    expect(() => install({ root, stage, moves })).toThrow(/cannot change the files/);

    expect(tree(root)).toEqual(before);
  });

  it('undoes everything when a file that git does not know is in the way, or the last step fails', () => {
    put(root, 'a', 'old');
    put(root, 'b', 'unknown');
    put(stage, 'new/a', 'new');
    put(stage, 'new/b', 'new');
    const before = tree(root);

    expect(() => install({ root, stage, moves: [changed('a'), added('b')] })).toThrow(/b is a file/);
    expect(tree(root)).toEqual(before);

    put(stage, 'new/a', 'new');
    const last = (): void => {
      throw new Error('no lock');
    };
    expect(() => install({ root, stage, moves: [changed('a')], last })).toThrow(/no lock/);
    expect(tree(root)).toEqual(before);
  });
});

describe('install whose undoing fails', () => {
  it('names the folder with the files of before, which a later undo puts back', () => {
    put(root, 'a', 'old');
    const last = (): void => {
      put(root, 'a/in-the-way', 'x');
      throw new Error('no lock');
    };

    expect(() => install({ root, stage, moves: [deleted('a')], last })).toThrow(/cannot restore the files/);
    expect(isUnfinished(stage)).toBe(true);

    rmSync(path.join(root, 'a'), { recursive: true });
    expect(undo(stage)).toBe(true);
    expect([tree(root), isUnfinished(stage)]).toEqual([['a=old'], false]);
  });
});

describe('undo', () => {
  it('restores the files from a journal whose process was killed after any rename', () => {
    const moves = [changed('a'), deleted('d/b'), added('n/c')];
    put(stage, 'journal.json', JSON.stringify({ root, moves }));
    // After the renames away, and one of the renames in.
    put(stage, 'old/a', 'old');
    put(stage, 'old/d/b', 'old');
    put(root, 'a', 'new');
    put(stage, 'new/n/c', 'new');

    expect(undo(stage)).toBe(true);

    expect(tree(root)).toEqual(['a=old', 'd/', 'd/b=old']);
    expect(undo(stage)).toBe(false);
  });

  it('does nothing without a journal', () => {
    put(root, 'a', 'as it is');
    expect(undo(stage)).toBe(false);
    expect(tree(root)).toEqual(['a=as it is']);
  });
});
