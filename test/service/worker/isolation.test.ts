import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bubblewrapPlan, findBubblewrap, hiddenFolders } from '../../../src/service/jail/bubblewrap.ts';
import { whyNoBubblewrap } from '../../../src/service/jail/detect.ts';
import { selectProcesses } from '../../../src/service/jail/processes.ts';
import {
  eventsOf,
  makePlace,
  outputs,
  type Place,
  removePlace,
  startConversation,
  startTestWorker,
  stateOf,
  step,
  type TestWorker,
  until,
  untilStatus,
} from './support/worker.ts';

let place: Place;
let worker: TestWorker | null = null;

beforeEach(() => {
  place = makePlace();
});

afterEach(async () => {
  await worker?.end();
  worker = null;
  removePlace(place);
});

const hasBubblewrap = (await whyNoBubblewrap()) === null;
const ISOLATED = hasBubblewrap ? (['bubblewrap'] as const) : [];

describe('what is hidden', () => {
  it('is the home and the whole data directory, by their real names too', () => {
    const events = path.join(place.dir, 'data', 'events', 'sandbox');
    const home = path.join(place.dir, 'home');
    mkdirSync(events, { recursive: true });
    mkdirSync(path.join(place.dir, 'real'));
    symlinkSync('real', home);
    const real = realpathSync(place.dir);
    expect(hiddenFolders(events, home)).toEqual([home, path.join(real, 'real'), path.join(real, 'data')]);
  });

  it('is covered where a system folder would show it', () => {
    const { options } = bubblewrapPlan({
      workspaceDir: place.workspace,
      dist: place.dir,
      node: process.execPath,
      offline: false,
      hidden: ['/usr/lib', place.dir],
    });
    expect(options[options.indexOf('/usr/lib') - 1]).toBe('--tmpfs');
    expect(options.slice(0, options.indexOf('/usr/lib'))).toContain('/usr');
  });
});

describe.each(ISOLATED)('a sandbox of the spec %s', (spec) => {
  it('cannot write a setting of the kernel, whoever runs the service', async () => {
    worker = await startTestWorker(place, { spec });
    const files = '/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/swappiness';
    await startConversation(worker, [
      step.run(`for f in ${files}; do test -w $f && echo open $f; done; echo looked`),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['looked']);
  });

  it('that was isolated is never continued without isolation', async () => {
    const programs = mkdtempSync(path.join(tmpdir(), 'acs-programs-'));
    try {
      const program = path.join(programs, 'bwrap');
      symlinkSync(findBubblewrap(process.env.PATH), program);
      const started = await startTestWorker(place, { spec, env: { PATH: programs } });
      worker = started;
      expect(started.spec).toBe('bubblewrap');
      const run = (command: string) => started.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 });
      rmSync(program);
      await run('kill -9 2 $PPID').catch(() => undefined);
      const refused = await until('an answer without isolation', async () => {
        const answer = await run('touch outside');
        return answer.status === 503 ? answer : null;
      });
      expect(refused.body).toMatchObject({ detail: expect.stringContaining('bwrap is not installed') });
      symlinkSync(findBubblewrap(process.env.PATH), program);
      expect((await run('pwd')).body).toMatchObject({ exit_code: 0, stdout: '/workspace/project\n' });
      expect(started.notices.filter((notice) => notice.type === 'warning')).toEqual([]);
    } finally {
      rmSync(programs, { recursive: true });
    }
  });
});

it('a helper that had to be killed leaves no folder of its own behind', async () => {
  worker = await startTestWorker(place, { spec: 'process' });
  const left = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith(`acs-shell-${place.sandboxId}-`));
  const command = { command: 'kill -STOP $PPID; sleep 60', timeout: 60 };
  const cut = worker.call('POST', '/api/bash/execute_bash_command', command).catch(() => null);
  await until('the folder', () => left().length === 1);
  await until('the helper to stand still', () =>
    selectProcesses({ below: null, marked: `ACS_SANDBOX_ID=${place.sandboxId}`, except: [] }).some(
      (pid) => stateOf(pid) === 'T',
    ),
  );
  await worker.end();
  await cut;
  expect(left()).toEqual([]);
});

describe('the doors of a worker', () => {
  it.each(['//', '//x:y/', '/%', '*', ':80', 'http://[', '/sockets//events'])(
    'stay open after an upgrade to %j',
    async (target) => {
      worker = await startTestWorker(place, { spec: 'process' });
      const { port } = worker;
      const answer = await new Promise<string>((resolve) => {
        let heard = '';
        const socket = connect(port, '127.0.0.1', () => {
          const upgrade = 'Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
          socket.write(`GET ${target} HTTP/1.1\r\n${upgrade}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
        });
        socket.on('data', (data) => (heard += data.toString('latin1')));
        socket.on('close', () => resolve(heard));
        // What it had said by then is looked at.
        socket.on('error', () => resolve(heard));
      });
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      expect((await worker.call('GET', '/api/tools')).status).toBe(200);
    },
  );
});
