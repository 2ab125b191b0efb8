import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { branchOnRemote } from '../../src/checkout/index.ts';
import { until } from '../support/until.ts';

const base = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'acs-checkout-')));
afterAll(() => rmSync(base, { recursive: true, force: true }));

/** No configuration of the machine's user, so that every machine gives the same answers. */
const env = {
  PATH: process.env.PATH,
  HOME: base,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.com',
};

let count = 0;
let dir = '';
beforeEach(() => {
  count += 1;
  dir = path.join(base, `work-${count}`);
  mkdirSync(dir);
});

describe('branchOnRemote', () => {
  it.runIf(existsSync('/proc')).each(['when its time is over', 'when it is interrupted'])(
    'leaves no process behind %s',
    async (when) => {
      const sockets: Socket[] = [];
      const host = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
      await once(host, 'listening');
      const remote = `http://127.0.0.1:${(host.address() as AddressInfo).port}/silent.git`;
      const interruption = new AbortController();
      const timeoutMs = when === 'when its time is over' ? 10_000 : 600_000;
      const asking = branchOnRemote(remote, 'main', { cwd: base, env, timeoutMs, signal: interruption.signal });
      try {
        await until(() => sockets.length > 0);
        if (timeoutMs === 600_000) {
          expect(commandsThatName(remote).length).toBeGreaterThan(1); // git, and its helper for such remotes
          const reason = new Error('interrupted');
          interruption.abort(reason);
          await expect(asking).rejects.toBe(reason);
        } else {
          expect(await asking).toEqual({ state: 'unknown', reason: 'the remote did not answer in time' });
        }
        await until(() => commandsThatName(remote).length === 0);
      } finally {
        for (const socket of sockets) socket.destroy();
        host.close();
      }
    },
  );

  it('does not prompt on the terminal, also over ssh', async () => {
    const written = path.join(base, `ssh-${count}`);
    const ssh = `echo "$SSH_ASKPASS_REQUIRE $SSH_ASKPASS" > ${written}; false`;
    const options = { cwd: base, env: { ...env, GIT_SSH_VARIANT: 'simple', GIT_SSH_COMMAND: ssh } };
    expect((await branchOnRemote('host:name.git', 'main', options)).state).toBe('unknown');
    expect(readFileSync(written, 'utf8')).toBe('force false\n');
  });
});

/** Command lines of living processes with this word in them. */
function commandsThatName(word: string): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(commandOf).filter((command) => command.includes(word));
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
