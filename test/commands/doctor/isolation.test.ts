import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { isolationHint } from '../../../src/commands/doctor/isolation.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const folder = folderOfEachTest();
const MISSING = 'bubblewrap (bwrap) is not installed';

it('the hint on Linux is the command of the package manager that is on PATH', () => {
  writeFileSync(path.join(folder.path, 'dnf'), '');
  expect(isolationHint('linux', MISSING, folder.path)).toMatch(/^sudo dnf install bubblewrap\n/);
  expect(isolationHint('linux', MISSING, '')).toMatch(/^install bubblewrap, and unshare/);
});

it('the hint where bubblewrap is not permitted names what permits it, and installs nothing', () => {
  writeFileSync(path.join(folder.path, 'dnf'), '');
  const hint = isolationHint('linux', 'bwrap: Operation not permitted', folder.path);
  expect(hint).toMatch(/^(?:sudo sysctl -w|permit user namespaces)/);
  expect(hint).not.toContain('dnf');
});

it('the hint elsewhere is the way without isolation alone', () => {
  expect(isolationHint('darwin', MISSING, '/opt/homebrew/bin')).toBe(
    'bubblewrap requires Linux\nrun commands with your own rights, and confirm each: ' +
      'acs conv new … --spec process --confirm always',
  );
});
