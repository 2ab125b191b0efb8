import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, expect, it } from 'vitest';
import { gather } from '../../../../src/service/isolation/inside/gather.ts';
import { RUN } from '../support.ts';

const WISH = { ...RUN, keepHead: 4, keepTail: 4 };

let child: ChildProcess;
afterEach(() => {
  // With what it has left behind: it leads a process group.
  try {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
  } catch {
    // Everything has ended by itself.
  }
});

/** Both outputs of a shell command, read until they are complete. */
async function outputs(command: string, live = false): Promise<{ stdout: string; stderr: string; passed: string[] }> {
  child = spawn('sh', ['-c', command], { detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const passed: string[] = [];
  const output = gather(child, { ...WISH, live }, (stream, text) => passed.push(`${stream} ${text}`));
  await once(child, 'exit');
  await output.settled();
  return { stdout: output.stdout.toString(), stderr: output.stderr.toString(), passed };
}

it('both outputs are complete when the command has ended', async () => {
  expect(await outputs('echo out; echo err >&2')).toEqual({ stdout: 'out\n', stderr: 'err\n', passed: [] });
});

it('the output is complete although a process holds both pipes', async () => {
  expect(await outputs('sleep 300 & printf out; printf err >&2')).toMatchObject({ stdout: 'out', stderr: 'err' });
});

it('a process that writes without end does not delay the end of its command for ever', async () => {
  const { stdout } = await outputs('(while :; do echo xxx; sleep 0.01; done) & exit 0');
  expect(stdout).toMatch(/^xxx\n/);
});

it('only the kept beginning is passed on, and only on request', async () => {
  expect((await outputs('printf 123456789', true)).passed).toEqual(['stdout 1234']);
  expect((await outputs('printf 123456789')).passed).toEqual([]);
});
