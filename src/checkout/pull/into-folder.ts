/** A patch against nothing, as the files of a new folder. */
import { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { AppError } from '../../errors.ts';
import { git } from '../git.ts';
import { applyPatch, summary, type Retrieved } from './apply.ts';
import { emptyTreeOf, staged, stageFolder, succeeded, type Asking, type Retrieval } from './stage.ts';

export function checkFolder(folder: string): void {
  const there = statSync(folder, { throwIfNoEntry: false });
  if (there && !there.isDirectory())
    throw new AppError('conflict', `${folder} is a file`, { hint: 'name a new folder' });
  if (there && readdirSync(folder).length > 0) {
    throw new AppError('conflict', `the folder ${folder} is not empty`, { hint: 'name a new or an empty folder' });
  }
  if (statSync(path.dirname(folder), { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new AppError('config', `cannot write ${folder}: its folder does not exist`);
  }
}

/** Files keep their bytes: neither settings of the user nor attributes of the patch convert them. */
const ATTRIBUTES = '* -text !eol -ident -filter -working-tree-encoding\n';

export async function intoFolder(
  { folder, patch, dryRun }: Retrieval & { folder: string },
  asking: Asking,
): Promise<Retrieved> {
  const dir = stageFolder(path.dirname(folder), asking);
  const gitDir = path.join(dir, 'repository');
  return await staged(dir, gitDir, asking, async (stage) => {
    const init = ['init', '-q', '--bare', '--template=', gitDir];
    succeeded(init, await git(init, { ...asking, cwd: dir }));
    mkdirSync(path.join(gitDir, 'info'), { recursive: true });
    writeFileSync(path.join(gitDir, 'info', 'attributes'), ATTRIBUTES);
    await stage.must(['config', 'core.autocrlf', 'false']);
    const { changes } = await applyPatch(stage, patch, {
      base: await emptyTreeOf({ ...asking, cwd: dir }),
      onto: 'an empty folder',
      threeWay: false,
      cached: false,
    });
    asking.signal?.throwIfAborted();
    if (!dryRun && changes.length > 0) renameSync(path.join(dir, 'new'), folder);
    return summary(changes, []);
  });
}
