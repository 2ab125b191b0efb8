import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { demoSteps } from '../../../../src/service/agents/replay/demo.ts';
import { readSteps } from '../../../../src/service/agents/replay/schema.ts';
import { editFile, EditHistory } from '../../../../src/service/isolation/inside/editor.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-demo-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** Executes the steps in a workspace and returns the output of each command, and the texts of edits that failed. */
async function play(workspace: string): Promise<{ outputs: string[]; failed: string[] }> {
  const env = { PATH: process.env['PATH'], GIT_CEILING_DIRECTORIES: dir, GIT_CONFIG_GLOBAL: '/dev/null' };
  const history = new EditHistory();
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
      if (status !== 0 || stderr !== '') failed.push(`${step.command}: ${String(status)} ${stderr}`);
    } else if (step.type === 'edit') {
      const result = await editFile({ ...step, cwd: workspace }, history);
      if (result.isError) failed.push(result.text);
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
