/**
 * A server that goes away in the middle, and one that comes back. These cases come last: sandboxes
 * may not outlive it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../support/world.ts';
import {
  inEachDialect,
  ok,
  show,
  started,
  until,
  untilMessagePassedOn,
  type OutcomeJson,
} from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

/** A command as a process of its own, so that what it has printed can be seen while it runs. */
function acsProcess(target: Target, ...args: string[]) {
  const child = spawn(process.execPath, [path.join(PACKAGE_ROOT, 'bin', 'acs.cjs'), ...args], {
    env: target.env,
    cwd: target.dir,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return { said, ended, end: () => child.kill('SIGKILL') };
}

export const RESTART: ContractCase[] = inEachDialect(
  'follow: the server is ended and started again in the middle',
  async (target, dialect) => {
    const { id } = await started(target, dialect, 'COUNT');
    const follow = acsProcess(target, 'conv', 'follow', id, '--json', '--wait-timeout', '4m');
    try {
      await until('the command on the screen', () =>
        Promise.resolve(/Action|action:run/.test(follow.said.out)),
      );
      if ((await show(target, id)).dialect === 'v1') await untilMessagePassedOn(target, id);
      await target.restart();
      // The local service pauses the run; the sandboxes of a genuine one are gone with it.
      expect(await follow.ended, follow.said.err).toBe(6);
    } finally {
      follow.end();
    }
    const last = JSON.parse(follow.said.out.trimEnd().split('\n').at(-1) ?? '') as OutcomeJson;
    expect(last).toMatchObject({ type: 'outcome', exit_code: 6 });
    expect(['paused', 'stopped', 'archived']).toContain(last.status);
    expect(['paused', 'stopped', 'archived']).toContain((await show(target, id)).status);
    expect((await ok(target, 'conv', 'events', id, '--json')).out).toContain('COUNT please');
  },
);
