import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bubblewrapPlan, hiddenFolders } from '../../../src/service/isolation/bubblewrap.ts';
import { selectProcesses } from '../../../src/service/isolation/processes.ts';
import { hasBubblewrap, readOnlySettings } from '../../support/bubblewrap.ts';
import { sandboxOfTest } from './support/sandbox-of-test.ts';
import {
  eventsOf,
  makePlace,
  outputs,
  removePlace,
  startConversation,
  startTestWorker,
  stateOf,
  step,
  until,
  untilStatus,
} from './support/worker.ts';

const sandbox = sandboxOfTest();

describe('the hidden folders', () => {
  it('are the home and the whole data directory, also by their real paths', () => {
    const events = path.join(sandbox.place.dir, 'data', 'events', 'sandbox');
    const home = path.join(sandbox.place.dir, 'home');
    mkdirSync(events, { recursive: true });
    mkdirSync(path.join(sandbox.place.dir, 'real'));
    symlinkSync('real', home);
    const real = realpathSync(sandbox.place.dir);
    expect(hiddenFolders(events, home)).toEqual([home, path.join(real, 'real'), path.join(real, 'data')]);
  });

  it('are covered where a system folder contains them', () => {
    const { options } = bubblewrapPlan({
      workspaceDir: sandbox.place.workspace,
      dist: sandbox.place.dir,
      node: process.execPath,
      offline: false,
      hidden: ['/usr/lib', sandbox.place.dir],
    });
    expect(options[options.indexOf('/usr/lib') - 1]).toBe('--tmpfs');
    expect(options.slice(0, options.indexOf('/usr/lib'))).toContain('/usr');
  });
});

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  const spec = 'bubblewrap';

  it('cannot write a kernel setting, whichever user runs the service', async () => {
    const worker = await sandbox.start({ spec });
    const files = '/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/swappiness';
    await startConversation(worker, [
      step.run(`for f in ${files}; do test -w $f && echo open $f; done; echo looked`),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['looked']);
  });

  it.each(['writable', 'read-only'])(
    'has at most 64 namespaces of each kind where /proc/sys is %s',
    async (settings) => {
      const programs = path.join(sandbox.place.dir, 'programs');
      mkdirSync(programs);
      const PATH = readOnlySettings(programs, { elsewhere: true });
      const worker = await sandbox.start(settings === 'writable' ? { spec } : { spec, env: { PATH } });
      const count = (flags: string, more = ''): string =>
        `${more}made=0; pids=; for i in $(seq 80); do mkfifo held$i; unshare ${flags} sh -c "echo up; read x < held$i" > up$i 2>/dev/null & ` +
        'pids="$pids $!"; done; ' +
        'for i in $(seq 80); do while kill -0 $(echo $pids | cut -d" " -f$i) 2>/dev/null && ! test -s up$i; do sleep 0.01; done; test -s up$i && made=$((made + 1)); done; ' +
        'kill $pids 2>/dev/null; wait 2>/dev/null; rm -f held* up*; echo $made';
      const raise = 'echo 9999 > /proc/sys/user/max_user_namespaces';
      await startConversation(worker, [
        step.run(count('--user')),
        step.run(`${raise} 2>&1 | grep -c denied; unshare -Ur sh -c '${raise}' 2>/dev/null`),
        step.run(count('--user')),
        step.run(count('--user --map-root-user --net')),
        step.run('grep CapEff /proc/self/status; id -u'),
        step.finish(),
      ]);
      await untilStatus(worker, 'finished');
      const [first, , again, nets, rights] = outputs(await eventsOf(worker));
      // bubblewrap itself has one, or two where it runs for another user than root.
      expect(Number(first)).toBeGreaterThanOrEqual(62);
      expect(Number(first)).toBeLessThan(64);
      expect(again).toBe(first);
      expect(Number(nets)).toBeLessThan(64);
      expect(rights).toBe(`CapEff:\t0000000000000000\n${String(process.getuid?.())}`);
    },
  );

  it('that has used up its namespaces does not prevent the isolation of another', async () => {
    const worker = await sandbox.start({ spec });
    await startConversation(worker, [
      step.run('for i in $(seq 200); do unshare --user sleep 300 & done 2>/dev/null; echo x > held; wait'),
      step.finish(),
    ]);
    await until('the namespaces are used up', () => existsSync(path.join(sandbox.place.workspace, 'held')));
    const other = makePlace();
    try {
      const next = await startTestWorker(other, { spec });
      expect(next.workingDir).toBe('/workspace/project');
      await next.end();
    } finally {
      removePlace(other);
    }
  });

  it('that was isolated is never resumed without isolation', async () => {
    const programs = mkdtempSync(path.join(tmpdir(), 'acs-programs-'));
    try {
      const program = path.join(programs, 'bwrap');
      const bwrap = execFileSync('which', ['bwrap'], { encoding: 'utf8' }).trim();
      symlinkSync(bwrap, program);
      for (const name of ['unshare', 'sh']) symlinkSync(`/usr/bin/${name}`, path.join(programs, name));
      const worker = await sandbox.start({ spec, env: { PATH: programs } });
      const run = (command: string) => worker.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 });
      rmSync(program);
      await run('kill -9 2 $PPID').catch(() => undefined);
      const refused = await until('an answer without isolation', async () => {
        const answer = await run('touch outside');
        return answer.status === 503 ? answer : null;
      });
      expect(refused.body).toMatchObject({
        detail: expect.stringContaining('cannot be isolated: bubblewrap (bwrap) is not installed'),
      });
      symlinkSync(bwrap, program);
      expect((await run('pwd')).body).toMatchObject({ exit_code: 0, stdout: '/workspace/project\n' });
    } finally {
      rmSync(programs, { recursive: true });
    }
  });
});

it('a helper that was killed leaves no temporary folder', async () => {
  const worker = await sandbox.start({ spec: 'process' });
  const left = (): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`acs-shell-${sandbox.place.sandboxId}-`));
  const command = { command: 'kill -STOP $PPID; sleep 60', timeout: 60 };
  const cut = worker.call('POST', '/api/bash/execute_bash_command', command).catch(() => null);
  await until('the folder', () => left().length === 1);
  await until('the helper to stand still', () =>
    selectProcesses({ below: null, marked: `ACS_SANDBOX_ID=${sandbox.place.sandboxId}`, except: [] }).some(
      (pid) => stateOf(pid) === 'T',
    ),
  );
  await worker.end();
  await cut;
  expect(left()).toEqual([]);
});

describe('the port of a worker', () => {
  it.each(['//', '//x:y/', '/%', '*', ':80', 'http://[', '/sockets//events'])(
    'stays open after an upgrade to %j',
    async (target) => {
      const worker = await sandbox.start({ spec: 'process' });
      const { port } = worker;
      const answer = await new Promise<string>((resolve) => {
        let received = '';
        const socket = connect(port, '127.0.0.1', () => {
          const upgrade = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
          socket.write(`GET ${target} HTTP/1.1\r\n${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
        });
        socket.on('data', (data) => (received += data.toString('latin1')));
        socket.on('close', () => resolve(received));
        // The bytes received before the error are examined.
        socket.on('error', () => resolve(received));
      });
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      expect((await worker.call('GET', '/api/tools')).status).toBe(200);
    },
  );
});
