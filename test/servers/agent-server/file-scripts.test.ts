import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  placeFileScript,
  placeFolderScript,
  placingOf,
  removeScript,
  stageOf,
} from '../../../src/servers/agent-server/file-scripts.ts';

let dir: string;
let box: string;
let stage: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-scripts-'));
  box = path.join(dir, 'box');
  for (const name of ['bin', 'box', 'source']) mkdirSync(path.join(dir, name));
  stage = stageOf(box, 'token');
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Uploads an archive of a folder with two files; its size in bytes. */
function uploadFolder(): number {
  for (const name of ['one', 'two']) writeFileSync(path.join(dir, 'source', name), name);
  mkdirSync(stage);
  execFileSync('tar', ['-cf', path.join(stage, 'archive'), '-C', path.join(dir, 'source'), '.']);
  return statSync(path.join(stage, 'archive')).size;
}

/** Runs the script with commands of `dir/bin` before those of the machine; its exit code and stdout. */
function run(script: string): { status: number | null; stdout: string } {
  const env = { ...process.env, PATH: `${path.join(dir, 'bin')}:${process.env['PATH']}` };
  const { status, stdout } = spawnSync('/bin/sh', ['-c', script], { env, encoding: 'utf8' });
  return { status, stdout };
}

describe('the removal of a copy', () => {
  it.each([
    ['a new folder', false],
    ['a folder that is there', true],
  ])('leaves %s whole whose placing has begun', (_, isThere) => {
    const bytes = uploadFolder();
    const target = path.join(box, 'copy');
    if (isThere) mkdirSync(target);
    const removal = `#!/bin/sh\n${removeScript(stage)}\nexec ${execFileSync('which', ['tar'], { encoding: 'utf8' })}`;
    writeFileSync(path.join(dir, 'bin/tar'), `${removal.trimEnd()} "$@"\n`, { mode: 0o755 });
    expect(run(placeFolderScript({ stage, target, bytes }))).toEqual({ status: 0, stdout: '' });
    expect(readdirSync(box)).toEqual(['copy']);
    expect(readdirSync(target).map((name) => readFileSync(path.join(target, name), 'utf8'))).toEqual(['one', 'two']);
  });

  it.each([
    ['a file', placeFileScript],
    ['a folder', placeFolderScript],
  ])('that was first leaves nothing of %s to place', (_, placeScript) => {
    const bytes = uploadFolder();
    expect(run(removeScript(stage)).status).toBe(0);
    const { status, stdout } = run(placeScript({ stage, target: path.join(box, 'copy'), bytes }, null));
    expect({ status, stdout }).toEqual({ status: 46, stdout: expect.stringMatching(/^ACS-FAILED incomplete /) });
    expect(readdirSync(box)).toEqual([]);
  });

  it('removes what a placing has left that was ended', () => {
    const bytes = uploadFolder();
    writeFileSync(path.join(dir, 'bin/tar'), '#!/bin/sh\nkill -KILL $PPID\n', { mode: 0o755 });
    run(placeFolderScript({ stage, target: path.join(box, 'copy'), bytes }));
    expect(readdirSync(box)).toEqual([path.basename(placingOf(stage))]);
    expect(run(removeScript(placingOf(stage))).status).toBe(0);
    expect(readdirSync(box)).toEqual([]);
  });
});
