import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PACKAGE_ROOT, createWorld, type World } from '../support/world.ts';
import { until } from '../support/test-clock.ts';

const SCRIPT = path.join(PACKAGE_ROOT, 'action', 'run.sh');
const ACTION = readFileSync(path.join(PACKAGE_ROOT, 'action', 'action.yml'), 'utf8');

let world: World;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
});
afterAll(() => world.close());

let steps = 0;

/** The text of the step that runs the script. */
const STEP = /^ {6}run: (.*run\.sh.*)$/m.exec(ACTION)?.[1] ?? '';

/**
 * Starts the step as a runner does: its text as a file for bash, inputs and files as variables,
 * stdin open. A runner sends its signals to this bash alone.
 */
function startStep(inputs: Record<string, string>) {
  const dir = path.join(world.dir, `step-${(steps += 1)}`);
  mkdirSync(dir);
  const files = { output: path.join(dir, 'output'), summary: path.join(dir, 'summary') };
  const given = Object.entries({
    BASE_URL: world.service.url,
    API_KEY: world.service.key,
    ...inputs,
  });
  writeFileSync(path.join(dir, 'step.sh'), STEP);
  const child = spawn(
    'bash',
    ['--noprofile', '--norc', '-e', '-o', 'pipefail', path.join(dir, 'step.sh')],
    {
      cwd: dir,
      env: {
        PATH: process.env.PATH,
        HOME: world.home,
        ACS_CONFIG_DIR: world.env.ACS_CONFIG_DIR,
        CI: 'true',
        GITHUB_ACTION_PATH: path.dirname(SCRIPT),
        RUNNER_TEMP: dir,
        GITHUB_OUTPUT: files.output,
        GITHUB_STEP_SUMMARY: files.summary,
        ...Object.fromEntries(given.map(([name, value]) => [`INPUT_${name}`, value])),
      },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (log += text));
  const ended = new Promise<{
    code: number | null;
    outputs: Record<string, string>;
    summary: string;
  }>((resolve) => {
    child.on('close', (code) => {
      resolve({
        code,
        outputs: outputsOf(files.output),
        summary: readFileSync(files.summary, 'utf8'),
      });
    });
  });
  return { child, dir, ended, log: () => log };
}

/** The outputs of a step, from the file that the runner reads. */
function outputsOf(file: string): Record<string, string> {
  const outputs: Record<string, string> = {};
  const lines = readFileSync(file, 'utf8').split('\n');
  for (let at = 0; at < lines.length - 1; at += 1) {
    const [name = '', delimiter = ''] = (lines[at] ?? '').split('<<');
    const end = lines.indexOf(delimiter, at + 1);
    outputs[name] = lines.slice(at + 1, end).join('\n');
    at = end;
  }
  return outputs;
}

describe('a run that finishes', () => {
  let step: Awaited<ReturnType<typeof startStep>['ended']> & { log: string; dir: string };
  beforeAll(async () => {
    const started = startStep({
      MESSAGE: '--not-a-flag $(touch executed)',
      REPLAY: 'demo',
      REPOSITORY: 'none',
    });
    step = { ...(await started.ended), log: started.log(), dir: started.dir };
  });

  it('exits 0 and sets the outputs', () => {
    expect(step.code, step.log).toBe(0);
    expect(step.outputs).toMatchObject({
      'exit-code': '0',
      status: 'finished',
      url: '',
      'cost-usd': '0',
    });
    expect(step.outputs.id).toMatch(/^[0-9a-f]{32}$/);
    expect(step.outputs.answer).toContain('Created acs-demo.sh');
  });

  it('writes the page, the summary and the diff into one folder', () => {
    expect(readdirSync(step.outputs.folder ?? '').sort()).toEqual([
      'changes.patch',
      'conversation.html',
      'summary.md',
    ]);
    expect(readFileSync(step.outputs.page ?? '', 'utf8')).toMatch(/^<!doctype html>/i);
    expect(readFileSync(step.outputs.diff ?? '', 'utf8')).toContain('+++ b/acs-demo.sh');
    expect(step.summary).toBe(
      readFileSync(path.join(step.outputs.folder ?? '', 'summary.md'), 'utf8'),
    );
    expect(step.summary).toContain('**Outcome**: finished');
  });

  it('passes the message as text and shows the key nowhere', () => {
    expect(step.summary).not.toContain(world.service.key);
    expect(step.log).not.toContain(world.service.key);
    expect(existsSync(path.join(step.dir, 'executed'))).toBe(false);
    expect(readdirSync(step.dir).filter((name) => name.startsWith('acs.'))).toEqual([]);
  });
});

/** A recorded run of these actions. */
function replay(...actions: unknown[]): string {
  const file = path.join(world.dir, `replay-${(steps += 1)}.json`);
  writeFileSync(file, JSON.stringify(actions));
  return file;
}

describe('the log', () => {
  it('has the lines of an agent between the words that turn workflow commands off and on', async () => {
    const file = replay(
      { action: 'run', args: { command: "printf '::error::%s\\n' forged" } },
      { action: 'finish', args: {} },
    );
    const { ended, log } = startStep({ MESSAGE: 'print', REPLAY: file, REPOSITORY: 'none' });
    expect((await ended).code, log()).toBe(0);

    const lines = log().split('\n');
    const off = lines.findIndex((line) => line.startsWith('::stop-commands::'));
    const on = lines.indexOf(`::${(lines[off] ?? '').slice('::stop-commands::'.length)}::`);
    const forged = lines.flatMap((line, at) => (line.includes('forged') ? [at] : []));
    expect(forged.length).toBeGreaterThan(0);
    expect(forged.filter((at) => at < off || at > on)).toEqual([]);
  });
});

describe('the outputs', () => {
  it('have an answer of several lines as it is, also one in the form of the file of outputs', async () => {
    const answer = 'one\nid<<x\nforged\nx\nstatus=forged\nEOF';
    const file = replay({ action: 'finish', args: { message: answer } });
    const { ended, log } = startStep({ MESSAGE: 'answer', REPLAY: file, REPOSITORY: 'none' });
    const { code, outputs } = await ended;
    expect({ code, ...outputs }, log()).toMatchObject({ code: 0, answer, status: 'finished' });
    expect(outputs.id).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe('a run that does not finish', () => {
  it('exits with the code of acs when no conversation was started', async () => {
    const { ended, log } = startStep({ MESSAGE: 'x', REPLAY: 'none.json', REPOSITORY: 'none' });
    const { code, outputs, summary } = await ended;
    expect({ code, ...outputs }, log()).toMatchObject({
      code: 3,
      'exit-code': '3',
      id: '',
      folder: '',
      page: '',
    });
    expect(summary).toBe(
      'No conversation was started; acs exited with 3. The log of the step has the reason.\n',
    );
  });

  it('exits 1 when the run has failed, with the page of the run', async () => {
    const file = replay({ action: 'run', args: { command: 'echo begun' } });
    const { ended, log } = startStep({ MESSAGE: 'x', REPLAY: file, REPOSITORY: 'none' });
    const { code, outputs, summary } = await ended;
    expect({ code, ...outputs }, log()).toMatchObject({
      code: 1,
      'exit-code': '1',
      status: 'failed',
      answer: '',
    });
    expect(readFileSync(outputs.page ?? '', 'utf8')).toContain('echo begun');
    expect(summary).toContain('**Outcome**: failed');
    expect(log()).toContain('::error::acs exited with 1');
  });

  it('exits 3 without a server, though the input is an empty text', async () => {
    const { ended, log } = startStep({ MESSAGE: 'x', BASE_URL: '', API_KEY: '' });
    expect((await ended).code, log()).toBe(3);
    expect(log()).toContain('ACS_BASE_URL');
  });

  it('stops the run when the job is cancelled', async () => {
    const file = replay(
      { action: 'run', args: { command: 'echo begun; sleep 300' } },
      { action: 'finish', args: {} },
    );
    const step = startStep({ MESSAGE: 'x', REPLAY: file, REPOSITORY: 'none' });
    await until(() => step.log().includes('sleep 300'));
    step.child.kill('SIGINT');
    const { code, outputs } = await step.ended;
    expect({ code, ...outputs }, step.log()).toMatchObject({ code: 130, 'exit-code': '130' });
    expect(['stopped', 'paused']).toContain(outputs.status);
    expect(existsSync(outputs.page ?? '')).toBe(true);
  });
});

describe('action.yml', () => {
  it('passes each input to the script as a variable, and no other', () => {
    const inputs = [...section('inputs').matchAll(/^ {2}([a-z-]+):$/gm)].map(
      ([, name]) => name ?? '',
    );
    const passed = [...ACTION.matchAll(/^ {8}INPUT_[A-Z_]+: \$\{\{ inputs\.([a-z-]+) \}\}$/gm)].map(
      ([, name]) => name,
    );
    const used = new Set(
      [...readFileSync(SCRIPT, 'utf8').matchAll(/INPUT_([A-Z_]+)/g)].map(([, name]) => name),
    );
    const variables = inputs.map((name) => name.toUpperCase().replaceAll('-', '_'));
    const ofAction = ['working-directory', 'artifact'];
    expect(passed).toEqual(inputs.filter((name) => !ofAction.includes(name)).sort());
    expect(variables.filter((name) => used.has(name)).sort()).toEqual(
      inputs
        .filter((name) => !ofAction.includes(name))
        .map((name) => name.toUpperCase().replaceAll('-', '_'))
        .sort(),
    );
  });

  it('declares the outputs that the script sets, and the folder of the artifact', () => {
    const declared = [...section('outputs').matchAll(/^ {2}([a-z-]+):$/gm)].map(([, name]) => name);
    const set = [...readFileSync(SCRIPT, 'utf8').matchAll(/^output ([a-z-]+) /gm)].map(
      ([, name]) => name,
    );
    expect(set.sort()).toEqual([...declared, 'folder'].sort());
  });

  it('interpolates no input into the text of a script', () => {
    expect([...ACTION.matchAll(/run: .*\$\{\{/g)]).toEqual([]);
  });
});

/** The lines below a key at the left margin. */
function section(name: string): string {
  return new RegExp(`^${name}:\\n((?: .*\\n)+)`, 'm').exec(ACTION)?.[1] ?? '';
}
