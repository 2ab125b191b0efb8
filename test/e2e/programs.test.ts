/**
 * `sandbox shell` on a pseudo-terminal, and `sandbox exec` as a process: pipes, signals, what is
 * left behind.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../commands/sandbox/support.ts';
import { until } from '../support/test-clock.ts';
import { createWorld, type World } from '../support/world.ts';
import { isAlive } from '../service/agent-server/support/worker.ts';
import { BIN, inWorld, shell, start } from './processes.ts';

// What makes a terminal here is util-linux's program of that name; others take other options.
const hasScript = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
);

let world: World;
let id: string;
beforeAll(async () => {
  world = await createWorld({ api: 'v1', spec: 'process' });
  id = await startSandbox(world);
});
afterAll(() => world.close());

describe('sandbox exec as a process', () => {
  it('passes a file through a program byte for byte', async () => {
    const file = path.join(world.dir, 'bytes');
    const bytes = randomBytes(10_000_000);
    writeFileSync(file, bytes);
    const script =
      `acs sandbox exec -i ${id} -- cat <'${file}' | acs sandbox exec -i ${id} ` + `-- sha256sum`;
    const { code, out } = await shell(script, inWorld(world)).ended;
    expect({ code, sum: out.split(' ')[0] }).toEqual({
      code: 0,
      sum: createHash('sha256').update(bytes).digest('hex'),
    });
  });

  it('ends without a message when the reader of a pipe has enough', async () => {
    const { out, err } = await shell(`acs sandbox exec ${id} -- yes | head -2`, inWorld(world))
      .ended;
    expect({ out, err }).toEqual({ out: 'y\ny\n', err: '' });
  });

  it('ends at a second Ctrl-C, and a program that ignores the first one with it', async () => {
    const acs = start(
      ['sandbox', 'exec', id, '--', 'sh', '-c', 'trap "" INT; echo $$; exec sleep 1000'],
      inWorld(world),
    );
    await until(() => acs.out().endsWith('\n'));
    const pid = Number(acs.out());
    acs.child.kill('SIGINT');
    acs.child.kill('SIGINT');
    // The second signal may arrive with the first, and counts as one then.
    await until(() => acs.child.kill('SIGINT') === false || acs.child.exitCode !== null);
    expect((await acs.ended).code).toBe(130);
    await until(() => !isAlive(pid));
  });

  it('leaves no program behind when it is killed', async () => {
    const acs = start(
      ['sandbox', 'exec', id, '--', 'sh', '-c', 'echo $$; exec sleep 1000'],
      inWorld(world),
    );
    await until(() => acs.out().endsWith('\n'));
    acs.child.kill('SIGKILL');
    await until(() => !isAlive(Number(acs.out())));
  });
});

describe.runIf(hasScript)('sandbox shell on a terminal', () => {
  let terminal: ChildProcess;
  let seen: string;
  const open = (script: string): void => {
    seen = '';
    const set = `tty > '${world.dir}/tty'; stty cols 90 rows 20; before=$(stty -g)`;
    const after = 'echo "exit $?"; [ "$(stty -g)" = "$before" ] && echo restored';
    terminal = spawn('script', ['-qfc', `${set}; ${script}; ${after}`, '/dev/null'], {
      env: { ...(world.env as NodeJS.ProcessEnv), SHELL: '/bin/bash', TERM: 'xterm' },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    terminal.stdout?.setEncoding('utf8').on('data', (text: string) => (seen += text));
  };
  const acs = (): string => `'${process.execPath}' '${BIN}' sandbox shell ${id}`;
  const type = (keys: string): void => void terminal.stdin?.write(keys);
  const shows = (text: string | RegExp): Promise<void> => until(() => seen.search(text) !== -1);

  afterEach(async () => {
    if (terminal.exitCode !== null || terminal.signalCode !== null) return;
    const closed = new Promise((resolve) => terminal.once('close', resolve));
    terminal.kill('SIGKILL');
    await closed;
  });

  it('has the size of the terminal, follows its changes, passes Ctrl-C on, and exits as the shell', async () => {
    open(acs());
    await shows(/[$#] $/);
    type('stty size; tty; echo "term $TERM"\n');
    await shows(/20 90\r\n\/dev\/pts\/\d+\r\nterm xterm\r\n/);
    spawnSync('stty', [
      '-F',
      readFileSync(`${world.dir}/tty`, 'utf8').trim(),
      'cols',
      '44',
      'rows',
      '11',
    ]);
    type(`until [ "$(stty size)" = "11 44" ]; do sleep 0.05; done; echo "resi""zed"\n`);
    await shows('resized\r\n');
    type('echo "wait""ing"; sleep 1000\n');
    await shows('waiting\r\n');
    type('\x03');
    type('echo "inter""rupted"; exit 7\n');
    await shows('interrupted\r\n');
    await shows('exit 7\r\n');
    await shows('restored');
  });

  it('restores the terminal when acs is ended, and ends what runs in the shell', async () => {
    open(acs());
    await shows(/[$#] $/);
    type('sleep 1000 & echo "pid=$!."; wait\n');
    await shows(/pid=\d+\./);
    const pid = Number(/pid=(\d+)\./.exec(seen)?.[1]);
    process.kill(pidOf(['sandbox', 'shell', id]), 'SIGTERM');
    await shows('exit 143');
    await shows('restored');
    await until(() => !isAlive(pid));
  });
});

/** The process whose last arguments are these. */
function pidOf(lastArguments: readonly string[]): number {
  const end = `\0${lastArguments.join('\0')}\0`;
  const found = readdirSync('/proc').find(
    (name) => /^\d+$/.test(name) && commandLineOf(name).endsWith(end),
  );
  if (found === undefined) throw new Error(`no process ends with ${lastArguments.join(' ')}`);
  return Number(found);
}

function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // It has ended.
  }
}
