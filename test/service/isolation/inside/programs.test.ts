import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Programs } from '../../../../src/service/isolation/inside/programs.ts';
import { Scratch } from '../../../../src/service/isolation/inside/scratch.ts';
import { until } from '../../../support/until.ts';

const hasScript = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

let dir: string;
let scratch: Scratch;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-programs-'));
  scratch = new Scratch(path.basename(dir));
});
afterEach(() => {
  scratch.remove();
  rmSync(dir, { recursive: true });
});

it.runIf(hasScript)('a terminal has the last of several sizes that are set at once', async () => {
  const programs = new Programs(dir, scratch);
  let seen = '';
  const ended = programs.run(
    1,
    {
      argv: ['sh', '-c', 'echo ready; until [ "$(stty size)" = "30 60" ]; do sleep 0.05; done; sleep 0.3; stty size'],
      ...{ cwd: null, env: {}, stdin: 'none', terminal: { columns: 80, rows: 24 }, window: 1_000_000 },
    },
    (_, data) => (seen += Buffer.from(data, 'base64').toString('utf8')),
  );
  await until(() => seen.includes('ready'));

  for (let rows = 1; rows <= 30; rows++) programs.resize(1, { columns: 2 * rows, rows });

  expect(await ended).toEqual({ exitCode: 0 });
  expect(seen).toContain('\r\n30 60\r\n');
});
