/** The scripts run in /bin/sh, which is dash on Debian, as in the sandboxes of genuine servers. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clockFrom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { AgentFiles } from '../../commands/sandbox/support.ts';
import { isAlive } from '../../service/agent-server/support/worker.ts';
import { until } from '../../support/test-clock.ts';
import { useV1 } from '../../support/use-scripted.ts';
import type { Ended, Invocation } from '../../support/world.ts';

const ID = 'boxboxboxboxboxboxbox1';

const at = useV1({ clock: () => clockFrom(() => Date.now()) });
let dir: string;
let agent: AgentFiles;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-exec-bash-'));
  agent = new AgentFiles(path.join(dir, 'box'));
  const exposed_urls = [{ name: 'AGENT_SERVER', url: await agent.listen() }];
  at.v1.addSandbox(ID, { exposed_urls, session_api_key: 'session' });
});
afterEach(async () => {
  await agent.close();
  rmSync(dir, { recursive: true });
});

function exec({ args, ...invocation }: Invocation): Promise<Ended> {
  return at.invoke({ cwd: dir, ...invocation, args: ['sandbox', 'exec', ID, ...args] });
}

/**
 * Runs a line of the shell until it has printed `begun`, and then gets the signal with this exit
 * code.
 */
async function interrupted(line: string, exitCode: number): Promise<Ended> {
  const interruption = new AbortController();
  let seen = '';
  const ended = exec({
    args: ['--', 'sh', '-c', line],
    signal: interruption.signal,
    onOut: (text) => (seen += text),
  });
  await until(() => seen.includes('begun'));
  interruption.abort(new AppError('interrupted', 'interrupted', { exitCode }));
  return await ended;
}

it('the streams are separate, and the exit code is that of the program', async () => {
  expect(await exec({ args: ['--', 'sh', '-c', 'echo out; echo err >&2; exit 7'] })).toMatchObject({
    code: 7,
    out: 'out\n',
    err: 'err\n',
  });
  expect((await exec({ args: ['--', 'no-such-program'] })).code).toBe(127);
});

it('arguments and variables arrive as they are given', async () => {
  const words = ["it's", '$HOME', 'a  b', '', '-n', 'A=b', 'two\nlines', '*', '\\'];
  const { out } = await exec({
    args: ['--env', "V=x'y z", '--', 'sh', '-c', 'printf "%s|" "$V" "$@"', 'sh', ...words],
  });
  expect(out).toBe(["x'y z", ...words, ''].join('|'));
});

it.each([
  ['SIGINT', 'INT', 130],
  ['SIGTERM', 'TERM', 143],
  ['SIGHUP', 'HUP', 129],
])(
  '%s is passed on, and the exit code is that of the handler of the program',
  async (_, name, exitCode) => {
    const line = `trap "echo caught; exit 9" ${name}; echo begun; while :; do sleep 0.1; done`;
    expect(await interrupted(line, exitCode)).toMatchObject({ code: 9, out: 'begun\ncaught\n' });
  },
);

it('what an interrupted program has left is ended with it', async () => {
  const pidFile = path.join(dir, 'pid');
  const line =
    `trap "exit 9" INT; (trap "" INT; exec sleep 1000) & echo $! >${pidFile}; echo ` +
    `begun; wait`;
  expect((await interrupted(line, 130)).code).toBe(9);
  await until(() => !isAlive(Number(readFileSync(pidFile, 'utf8'))));
});
