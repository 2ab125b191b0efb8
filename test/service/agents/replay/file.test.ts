import { execFileSync, spawnSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { Editor } from '../../../../src/service/agent-server/editor.ts';
import { demoSteps, readReplayFile } from '../../../../src/service/agents/replay/file.ts';
import { readSteps } from '../../../../src/service/base/steps.ts';
import { usePlainSandbox } from '../../agent-server/support/shared-sandboxes.ts';

const plain = usePlainSandbox();
let dir: string;
beforeEach(() => {
  dir = plain.folder();
});

/**
 * Executes the steps in a workspace and returns the output of each command, and the texts of edits
 * that failed.
 */
async function play(workspace: string): Promise<{ outputs: string[]; failed: string[] }> {
  const env = {
    PATH: process.env['PATH'],
    GIT_CEILING_DIRECTORIES: dir,
    GIT_CONFIG_GLOBAL: '/dev/null',
  };
  const editor = new Editor(plain.sandbox);
  const outputs: string[] = [];
  const failed: string[] = [];
  for (const step of demoSteps()) {
    if (step.type === 'terminal') {
      const { status, stdout, stderr } = spawnSync('sh', ['-c', step.command], {
        cwd: workspace,
        env,
        encoding: 'utf8',
      });
      outputs.push(stdout);
      if (status !== 0 || stderr !== '')
        failed.push(`${step.command}: ${String(status)} ${stderr}`);
    } else if (step.type === 'edit') {
      const result = await editor.edit(step, workspace);
      if (result.is_error) failed.push(result.text);
    }
  }
  return { outputs, failed };
}

it('the demonstration consists of steps that a worker accepts', () => {
  expect(readSteps(demoSteps())).toEqual(demoSteps());
});

it('the demonstration succeeds in an empty folder without a repository', async () => {
  const { outputs, failed } = await play(dir);
  expect(failed).toEqual([]);
  expect(outputs[1]).toBe('No commits yet.\n');
  expect(outputs[2]).toBe('files: 1\n');
  expect(outputs[3]).toContain('acs-demo.sh');
});

it('the demonstration counts the files of a repository without those of git', async () => {
  execFileSync('git', ['init', '-q', dir]);
  writeFileSync(path.join(dir, 'one.txt'), '');
  const { outputs, failed } = await play(dir);
  expect(failed).toEqual([]);
  expect(outputs.slice(2)).toEqual(['files: 2\n', '?? acs-demo.sh\n']);
});

function fileOf(name: string, text: string): string {
  const file = path.join(dir, name);
  writeFileSync(file, text);
  return file;
}

it('a replay file is read to its steps, and demo names the built-in one', () => {
  const file = fileOf('run.json', JSON.stringify([{ kind: 'FinishAction', message: 'end' }]));
  expect(readReplayFile(file)).toMatchObject([{ type: 'finish', message: 'end' }]);
  expect(readReplayFile('demo')).toEqual(demoSteps());
});

it.each([
  ['that is missing', () => path.join(dir, 'none.json'), 'there is no such file'],
  ['that is a folder', () => dir, 'it is not a regular file'],
  [
    'that is a pipe',
    () => {
      execFileSync('mkfifo', [path.join(dir, 'pipe')]);
      return path.join(dir, 'pipe');
    },
    'it is not a regular file',
  ],
  [
    'above 32 MiB',
    () => {
      const file = fileOf('large', '');
      truncateSync(file, 32 * 1024 * 1024 + 1);
      return file;
    },
    'it is larger than 32 MiB',
  ],
  ['without an action', () => fileOf('empty.json', '[]'), 'contains no agent action'],
])('a replay file %s is refused with its path and the reason', (_, make, why) => {
  const file = make();
  const message = expect.stringMatching(new RegExp(`${path.basename(file)}: .*${why}`)) as string;
  expect(() => readReplayFile(file)).toThrow(
    expect.objectContaining({ code: 'replay', message }) as Error,
  );
});
