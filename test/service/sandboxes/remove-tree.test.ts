import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeTree, removeTreeSync } from '../../../src/service/sandboxes/remove-tree.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-tree-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const atOnce = (folder: string): Promise<void> =>
  new Promise((resolve) => {
    removeTreeSync(folder);
    resolve();
  });

it.each([
  ['while the service runs', removeTree],
  ['before it answers', atOnce],
])(
  'a workspace with folders that may not be written is removed %s, and nothing it points at',
  async (_when, remove) => {
    const outside = path.join(dir, 'outside');
    mkdirSync(outside);
    writeFileSync(path.join(outside, 'kept'), 'kept');
    const tree = path.join(dir, 'tree');
    mkdirSync(path.join(tree, 'cache', 'module'), { recursive: true });
    mkdirSync(path.join(tree, 'closed'));
    writeFileSync(path.join(tree, 'cache', 'module', 'file'), 'x');
    symlinkSync(outside, path.join(tree, 'cache', 'link'));
    for (const name of ['cache/module', 'cache']) chmodSync(path.join(tree, name), 0o555);
    for (const name of ['closed', '.']) chmodSync(path.join(tree, name), 0o000);
    // Root may do everything anyway; for anybody else this is refused without more.
    await remove(tree);
    expect(existsSync(tree)).toBe(false);
    expect(readFileSync(path.join(outside, 'kept'), 'utf8')).toBe('kept');
    await remove(tree);
  },
);
