import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { demoSteps } from '../../../../src/service/agents/replay/demo.ts';
import { readReplayFile } from '../../../../src/service/agents/replay/file.ts';

const dir = mkdtempSync(path.join(tmpdir(), 'acs-replay-'));
afterAll(() => rmSync(dir, { recursive: true }));

function fileOf(name: string, text: string): string {
  const file = path.join(dir, name);
  writeFileSync(file, text);
  return file;
}

function sparse(name: string, size: number): string {
  const file = fileOf(name, '');
  truncateSync(file, size);
  return file;
}

function pipe(): string {
  execFileSync('mkfifo', [path.join(dir, 'pipe')]);
  return path.join(dir, 'pipe');
}

it('a replay file is read to its steps, and demo names the built-in one', () => {
  const file = fileOf('run.json', JSON.stringify([{ kind: 'FinishAction', message: 'end' }]));
  expect(readReplayFile(file)).toMatchObject([{ type: 'finish', message: 'end' }]);
  expect(readReplayFile('demo')).toEqual(demoSteps());
});

it.each([
  ['that is missing', () => path.join(dir, 'none.json'), 'there is no such file'],
  ['that is a folder', () => dir, 'it is not a regular file'],
  ['that is a pipe', pipe, 'it is not a regular file'],
  ['above 32 MiB', () => sparse('large', 32 * 1024 * 1024 + 1), 'it is larger than 32 MiB'],
  ['without an action', () => fileOf('empty.json', '[]'), 'holds no action of an agent'],
])('a replay file %s is refused with its path and the reason', (_, make, why) => {
  const file = make();
  const message = expect.stringMatching(new RegExp(`${path.basename(file)}: .*${why}`)) as string;
  expect(() => readReplayFile(file)).toThrow(expect.objectContaining({ code: 'replay', message }) as Error);
});
