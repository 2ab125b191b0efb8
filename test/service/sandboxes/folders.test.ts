import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { SandboxFolders } from '../../../src/service/sandboxes/folders.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const folders = () => new SandboxFolders({ workspacesDir: folder.path, eventsDir: folder.path });

it('a workspace with folders that may not be written is removed, and nothing that it points at', async () => {
  const script = `mkdir -p outside tree/cache/module tree/closed; touch outside/kept tree/cache/module/file
    ln -s ../../outside tree/cache/link; chmod 555 tree/cache/module tree/cache; chmod 0 tree/closed tree`;
  execFileSync('sh', ['-ec', script], { cwd: folder.path });
  // Root may do everything anyway; for anybody else this is refused without more.
  await folders().remove('tree');
  expect(readdirSync(folder.path)).toEqual(['outside']);
  expect(readdirSync(path.join(folder.path, 'outside'))).toEqual(['kept']);
  await folders().remove('tree');
});

it('a workspace with a path longer than the system permits, and a closed folder of any name, is removed', async () => {
  const script = `mkdir tree; cd tree; mkdir "$(printf '\\377')"; chmod 0 "$(printf '\\377')"
    for n in $(seq 60); do mkdir ${'d'.repeat(100)}; cd -P ${'d'.repeat(100)}; done`;
  execFileSync('bash', ['-ec', script], { cwd: folder.path });
  await folders().remove('tree');
  expect(readdirSync(folder.path)).toEqual([]);
});
