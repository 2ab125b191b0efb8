import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  processesOf,
  stateOf,
  statesOf,
  ID,
  isAlive,
  KEY,
  outline,
  outputs,
  step,
  type TestWorker,
  until,
} from '../agent-server/support/worker.ts';
import { sandboxOfTest } from '../agent-server/support/shared-sandboxes.ts';
import { WORKSPACE_INSIDE } from '../../../src/service/base/worker-protocol.ts';
import { describeEachSpec, hasBubblewrap } from '../../support/bubblewrap.ts';

const sandbox = sandboxOfTest();

const hasPrlimit = spawnSync('prlimit', ['--rttime']).status === 0;

/** Counts up in a file, as long as it may run. */
const counter = (file: string): string => `while :; do echo x >> ${file}; sleep 0.02; done`;

function size(file: string): number {
  const full = path.join(sandbox.place.workspace, file);
  return existsSync(full) ? readFileSync(full).length : 0;
}

const inside = (): number[] => processesOf(sandbox.place);
const states = (): string[] => statesOf(sandbox.place);

/**
 * One continues, and does not belong to the agent: bwrap outside, or the helper that must see the
 * end of the worker. (One in the middle of a write stops when the disk has answered.)
 */
async function untilHeld(): Promise<void> {
  await until(
    'all but one are stopped',
    () => states().filter((state) => state !== 'T').length === 1,
  ).catch((error: unknown) => {
    const lines = inside().map((pid) => `${stateOf(pid)} ${commandLine(pid)}`);
    throw new Error(lines.join('\n'), { cause: error });
  });
}

/** Empty when it is gone. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/**
 * Three commands that only end by force: in its place, in a session of its own, and with a parent
 * that is gone.
 */
const stubborn = [
  `(setsid sh -c '${counter('own-session')}' &)`,
  `(setsid sh -c 'trap "" TERM HUP INT; ${counter('orphan')}' > /dev/null 2>&1 &) ; ` +
    `${counter('direct')}`,
];

async function startStubborn(started: TestWorker): Promise<void> {
  await started.startConversation([...stubborn.map((command) => step.run(command)), step.finish()]);
  for (const file of ['own-session', 'orphan', 'direct']) await until(file, () => size(file) > 2);
}

it.runIf(hasBubblewrap)(
  'a command that ends everything in the sandbox leaves the session as it was',
  async () => {
    const worker = await sandbox.start({ spec: 'bubblewrap' });
    const seen = await worker.outputsOf(
      'mkdir sub; cd sub; twice() { echo "$1$1"; }',
      'cd /; kill -KILL -1',
      'twice "$(basename "$PWD")"',
    );
    expect(seen).toEqual([
      '',
      expect.stringMatching(/^Everything in the sandbox was ended/),
      'subsub',
    ]);
  },
);

describeEachSpec('with %s', (spec) => {
  it('pause stops every process of the sandbox, resume continues them', async () => {
    const worker = await sandbox.start({ spec });
    await startStubborn(worker);
    expect((await worker.command('pause')).type).toBe('paused');
    await untilHeld();
    expect(states().length).toBeGreaterThanOrEqual(4);
    const held = ['own-session', 'orphan', 'direct'].map(size);
    await expect(worker.call('GET', '/alive')).rejects.toThrow();
    expect(['own-session', 'orphan', 'direct'].map(size)).toEqual(held);
    expect((await worker.command('resume')).type).toBe('resumed');
    for (const [index, file] of ['own-session', 'orphan', 'direct'].entries()) {
      await until(`${file} goes on`, () => size(file) > (held[index] ?? 0));
    }
    expect(await worker.status()).toBe('running');
  });

  it('pause holds a run of many short commands', async () => {
    const worker = await sandbox.start({ spec });
    const steps = Array.from({ length: 200 }, () => step.run('echo x >> steps'));
    await worker.startConversation([...steps, step.finish()]);
    for (let pauses = 1; pauses <= 3; pauses += 1) {
      await until('some steps', () => size('steps') > pauses * 20);
      await worker.command('pause');
      await untilHeld();
      const held = size('steps');
      execFileSync('sleep', ['0.1']);
      expect(size('steps')).toBe(held);
      await worker.command('resume');
    }
    await worker.call('POST', `/api/conversations/${ID}/interrupt`);
    const lines = size('steps') / 2;
    const seen = (await worker.events()).filter(
      (event) => event.kind === 'ObservationEvent',
    ).length;
    expect(lines - seen).toBeLessThanOrEqual(1);
  });

  it('a session and the difference do not depend on the temporary folder', async () => {
    const temporary = path.join(sandbox.place.dir, 'temporary');
    mkdirSync(temporary);
    const worker = await sandbox.start({ spec, env: { TMPDIR: temporary } });
    const seen = await worker.outputsOf(
      'git init -q; echo one > a.txt; git add a.txt; git commit -qm one; echo two > a.txt',
      'mkdir sub; cd sub; rm -rf "$TMPDIR"/*; KEPT=yes; twice() { echo "$1$1"; }',
      'twice "$KEPT $(basename "$PWD")"',
    );
    expect(seen).toEqual(['', '', 'yes subyes sub']);
    const folder = spec === 'bubblewrap' ? WORKSPACE_INSIDE : sandbox.place.workspace;
    const delta = await worker.call(
      'GET',
      `/api/file/archive?path=${folder}&ref=HEAD&format=git-delta`,
    );
    expect(delta).toMatchObject({ status: 200, body: expect.stringContaining('+two') as unknown });
  });

  it('the editor takes ~ and $HOME at the beginning of a path as the home', async () => {
    const home = path.join(sandbox.place.dir, 'home');
    mkdirSync(home);
    const worker = await sandbox.start({ spec, env: { HOME: home } });
    const events = await worker.play([
      step.create('~/a.txt', 'a'),
      step.create('$HOME/deep/b.txt', 'b'),
      step.create('~c/~/$HOME', 'c'),
      step.run('cat ~/a.txt ~/deep/b.txt; find . -type f'),
      step.finish(),
    ]);
    expect(outputs(events)).toEqual(['ab./~c/~/$HOME']);
  });

  it('signals to the helper, whose name and command line are no program of a user, end nothing', async () => {
    const worker = await sandbox.start({ spec });
    const seen = await worker.outputsOf(
      'twice() { echo "$1$1"; }',
      'tr -d "\\0" < /proc/$PPID/cmdline; echo; cat /proc/$PPID/comm; kill -TERM $PPID; ' +
        'kill -HUP $PPID',
      'twice on',
    );
    expect(seen).toEqual(['', 'acs-sandbox\nacs-sandbox', 'onon']);
  });

  it.each(['running', 'paused'])(
    'the end of stdin ends every process of a %s sandbox',
    async (state) => {
      const worker = await sandbox.start({ spec });
      await startStubborn(worker);
      if (state === 'paused') await worker.command('pause');
      await worker.end();
      await until('all processes end', () => inside().length === 0);
      expect(readdirSync(sandbox.place.events).join()).not.toContain('scratch');
    },
  );

  it.each(['running', 'paused'])(
    'SIGKILL of the worker leaves no process of a %s sandbox',
    async (state) => {
      const worker = await sandbox.start({ spec });
      await startStubborn(worker);
      if (state === 'paused') await worker.command('pause');
      await worker.kill('SIGKILL');
      await until('all processes end', () => inside().length === 0);
      expect(readdirSync(sandbox.place.events).join()).not.toContain('scratch');
    },
  );

  it('stop ends every process, and the run is paused in the log', async () => {
    let worker = await sandbox.start({ spec });
    await startStubborn(worker);
    expect((await worker.command('stop')).type).toBe('stopped');
    await until('all processes end', () => inside().length === 0);
    await worker.end();
    worker = await sandbox.start({ spec });
    expect(await worker.status()).toBe('paused');
    expect(outline(await worker.events()).slice(-2)).toEqual(['AgentErrorEvent', 'paused']);
  });

  it('a command that ends every process of the sandbox does not end the conversation', async () => {
    const worker = await sandbox.start({ spec });
    // The helper is the parent of the shell.
    const [first, back] = await worker.outputsOf('kill -9 $PPID; sleep 1000', 'echo back');
    expect(back).toBe('back');
    if (spec === 'process') expect(first).toContain('Everything in the sandbox was ended');
  });

  it('SIGKILL of the worker during a run loses no event that a client has received, and the run continues', async () => {
    // It goes no further than its middle before it was killed, however late that happens.
    const waits = 'while ! test -e go; do sleep 0.02; done; ';
    const steps = Array.from({ length: 20 }, (_, index) =>
      step.run(`${index === 15 ? waits : ''}echo ${index} >> done`),
    );
    let worker = await sandbox.start({ spec });
    await worker.startConversation([...steps, step.finish()]);
    const live = worker.socket(`/sockets/events/${ID}?resend_mode=all`, {
      'X-Session-API-Key': KEY,
    });
    await until('some events', () => live.frames.length > 20);
    await worker.kill('SIGKILL');
    writeFileSync(path.join(sandbox.place.workspace, 'go'), '');
    const seen = live.frames
      .filter((frame) => frame['key'] !== 'full_state')
      .map((frame) => frame['id']);
    worker = await sandbox.start({ spec });
    const kept = (await worker.events()).map((event) => event.id);
    expect(kept.slice(0, seen.length)).toEqual(seen);
    expect(await worker.status()).toBe('paused');
    const rest = worker.socket(`/sockets/events/${ID}?resend_mode=all`, {
      'X-Session-API-Key': KEY,
    });
    await worker.call('POST', `/api/conversations/${ID}/run`);
    await worker.untilStatus('finished');
    await until('the end over the socket', () =>
      rest.frames.some((frame) => frame['value'] === 'finished'),
    );
    const all = rest.frames
      .filter((frame) => frame['key'] !== 'full_state')
      .map((frame) => frame['id']);
    expect(all).toEqual((await worker.events()).map((event) => event.id));
    expect(new Set(all).size).toBe(all.length);
    const numbers = readFileSync(path.join(sandbox.place.workspace, 'done'), 'utf8')
      .trim()
      .split('\n')
      .map(Number);
    expect([...new Set(numbers)]).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });
});

describe.runIf(hasBubblewrap)('isolation', () => {
  it('shows a command no logs, home, environment, key or process of the host, nor a kernel setting to write', async () => {
    const home = path.join(sandbox.place.dir, 'home');
    mkdirSync(home);
    writeFileSync(path.join(home, 'private.txt'), 'private');
    const worker = await sandbox.start({
      env: { HOME: home, ACS_API_KEY: 'leaked-key' },
      initialEnv: { WANTED: 'yes' },
    });
    expect(worker.spec).toBe('bubblewrap');
    const command = [
      `ls ${sandbox.place.events} ${sandbox.place.dir} ${home} /root /tmp/acs-* 2>&1`,
      'env',
      'cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\\0" "\\n"',
      'cat /etc/shadow 2>&1',
      'touch /usr/x /x /etc/x 2>&1',
    ].join('; ');
    const settings =
      '/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/swappiness';
    const [text = '', own, kernel, processes = ''] = await worker.outputsOf(
      command,
      'echo "$HOME $WANTED"; pwd',
      `for f in ${settings}; do test -w $f && echo open $f; done; echo looked`,
      `kill -0 ${process.pid} 2>&1; ls -d /proc/[0-9]* | wc -l`,
    );
    expect(text).not.toContain('leaked-key');
    expect(text).not.toContain(KEY);
    expect(text).not.toContain('private.txt');
    expect(text).not.toMatch(/^[0-9a-f]{32}\.db/m);
    expect(text).not.toMatch(/^root:.*:/m);
    expect(text.match(/Read-only file system/g)).toHaveLength(3);
    expect(own).toBe('/home/agent yes\n/workspace/project');
    expect(kernel).toBe('looked');
    expect(processes).toContain('No such process');
    expect(Number(processes.split('\n').at(-1))).toBeLessThan(10);
  });

  it('has no network with bubblewrap-offline, and package managers use their caches alone', async () => {
    const worker = await sandbox.start({ spec: 'bubblewrap-offline' });
    expect(worker.spec).toBe('bubblewrap-offline');
    const script = `require("net").connect(${worker.port},"127.0.0.1").on("connect",()=>console.log("open")).on("error",(e)=>console.log(e.code))`;
    const npx = 'npx --yes acs-none 2>&1 | grep -o ENOTCACHED';
    expect(await worker.outputsOf(`node -e '${script}'`, npx)).toEqual([
      'ECONNREFUSED',
      'ENOTCACHED',
    ]);
  });
});

describe('without bubblewrap', () => {
  it.each([
    ['is not there', null, 'bubblewrap (bwrap) is not installed'],
    [
      'is not permitted',
      'echo "bwrap: No permissions to create new namespace" >&2; exit 1',
      'No permissions',
    ],
    [
      'finds no free user namespace',
      'echo "bwrap: Creating new namespace failed (ENOSPC)" >&2; exit 1',
      'ENOSPC',
    ],
    ['is killed', 'kill -9 $$', 'SIGKILL'],
    ['ends without a word', 'exit 0', 'exit code 0'],
  ])('a sandbox with isolation does not start when bubblewrap %s', async (_, script, why) => {
    const bin = path.join(sandbox.place.dir, 'bin');
    mkdirSync(bin);
    for (const name of ['unshare', 'sh']) symlinkSync(`/usr/bin/${name}`, path.join(bin, name));
    if (script !== null)
      writeFileSync(path.join(bin, 'bwrap'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const specs = ['bubblewrap', 'bubblewrap-offline'] as const;
    await Promise.all(
      specs.map((spec) => expect(sandbox.start({ spec, env: { PATH: bin } })).rejects.toThrow(why)),
    );
  });

  it.runIf(hasPrlimit)(
    'a process without the environment and the session of the sandbox is ended with the others',
    async () => {
      const worker = await sandbox.start({ spec: 'process' });
      const dropped = Number(
        await worker.outputsOf(
          `env -i setsid sh -c '${counter('dropped')}' > /dev/null 2>&1 & echo $!`,
        ),
      );
      await until('it runs', () => size('dropped') > 2);
      expect(isAlive(dropped)).toBe(true);
      await worker.command('stop');
      await until('it has ended', () => !isAlive(dropped));
    },
  );

  it('a helper that was killed leaves no temporary folder', async () => {
    const worker = await sandbox.start({ spec: 'process' });
    await worker.startConversation([step.run('kill -STOP $PPID; sleep 60'), step.finish()]);
    await until('the helper is stopped', () => states().includes('T'));
    expect(readdirSync(sandbox.place.events).join()).toContain('scratch');
    await worker.end();
    expect(readdirSync(sandbox.place.events).join()).not.toContain('scratch');
  });

  it('a process left by an earlier worker is ended when the sandbox starts again without isolation', async () => {
    let worker = await sandbox.start({ spec: 'process' });
    const helper = Number(
      await worker.outputsOf(`(setsid sh -c '${counter('left')}' > /dev/null 2>&1 &); echo $PPID`),
    );
    process.kill(helper, 'SIGKILL');
    await until('the helper ends', () => !isAlive(helper));
    await worker.kill('SIGKILL');
    worker = await sandbox.start({ spec: 'process' });
    const held = size('left');
    expect(inside().filter((pid) => commandLine(pid).includes('left'))).toEqual([]);
    expect(size('left')).toBe(held);
  });
});
