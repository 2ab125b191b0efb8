import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** What git writes in a folder; null: it failed. */
type RunGit = (folder: string, ...argv: string[]) => Promise<string | null>;

const MOST = 100;
const DEEPEST = 5;

/**
 * Checks out the submodules of a clone whose repositories are in the checkout; the URLs in
 * .gitmodules are not used. `run`: git that reads files alone, with literal paths. Returns the
 * others, which stay empty.
 */
export async function checkOutSubmodules(
  checkout: string,
  clone: string,
  run: RunGit,
): Promise<string[]> {
  const modules = (await run(checkout, 'rev-parse', '--git-path', 'modules')) ?? '';
  const empty = await fill(clone, path.resolve(checkout, modules), run, 0);
  return empty.map((folder) => `${folder} (a submodule that is not on this disk)`);
}

async function fill(clone: string, modules: string, run: RunGit, depth: number): Promise<string[]> {
  const ofPaths = ['config', '-z', '--blob', ':.gitmodules', '--get-regexp'];
  const records = (await run(clone, ...ofPaths, '^submodule\\..*\\.path$')) ?? '';
  const empty: string[] = [];
  for (const record of records.split('\0').slice(0, MOST)) {
    const [, name = '', folder = ''] = /^submodule\.(.*)\.path\n(.+)$/s.exec(record) ?? [];
    const entry = folder === '' ? null : await run(clone, 'ls-files', '-s', '--', folder);
    if (!entry?.startsWith('160000 ')) continue;
    const source = path.join(modules, name);
    const set = ['config', `submodule.${name}.url`, pathToFileURL(source).href];
    const update = ['submodule', '--quiet', 'update', '--checkout', '--', folder];
    const isCheckedOut =
      source.startsWith(`${modules}/`) &&
      existsSync(source) &&
      (await run(clone, ...set)) !== null &&
      (await run(clone, ...update)) !== null;
    if (!isCheckedOut) empty.push(folder);
    else if (depth < DEEPEST) {
      const nested = path.join(source, 'modules');
      const below = await fill(path.join(clone, folder), nested, run, depth + 1);
      empty.push(...below.map((each) => path.join(folder, each)));
    }
  }
  return empty;
}
