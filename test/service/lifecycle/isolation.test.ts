import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { chooseSpecs } from '../../../src/service/lifecycle/isolation.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const programs = folderOfEachTest();

/** The choice where `unshare` starts a bubblewrap that is this script; null: none is installed. */
function chosen(spec: 'bubblewrap' | 'process' | undefined, bwrap: string | null) {
  const install = (name: string, script: string): void => {
    writeFileSync(path.join(programs.path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  };
  install('unshare', 'shift 6; exec "$@"');
  if (bwrap !== null) install('bwrap', bwrap);
  return chooseSpecs({ env: { PATH: programs.path }, ...(spec === undefined ? {} : { spec }) });
}

const NOT_PERMITTED = 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1';

it('the default spec is bubblewrap where it works, unless another one is named', async () => {
  expect(await chosen(undefined, 'exit 0')).toEqual({ byDefault: 'bubblewrap', warning: null, whyNoBubblewrap: null });
  expect(await chosen('process', 'exit 0')).toMatchObject({ byDefault: 'process', whyNoBubblewrap: null });
});

it.each([
  [null, 'bubblewrap (bwrap) is not installed'],
  [NOT_PERMITTED, 'uid map'],
])('the default spec is process, with a warning, where bubblewrap cannot be used: %s', async (bwrap, why) => {
  expect(await chosen(undefined, bwrap)).toMatchObject({
    byDefault: 'process',
    warning: expect.stringContaining(why) as string,
    whyNoBubblewrap: expect.stringContaining(why) as string,
  });
  await expect(chosen('bubblewrap', bwrap)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining(why) as string,
  });
});

it('a trial that fails for another reason is an error, unless process is named', async () => {
  for (const spec of [undefined, 'bubblewrap'] as const) {
    await expect(chosen(spec, 'exit 3')).rejects.toMatchObject({
      code: 'isolation',
      hint: expect.stringContaining('--spec process') as string,
    });
  }
  expect(await chosen('process', 'exit 3')).toMatchObject({
    byDefault: 'process',
    warning: null,
    whyNoBubblewrap: expect.stringContaining('exit code 3') as string,
  });
});
