import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureLocalService, serviceStatus, stopService } from '../../../src/service/index.ts';
import { selectProcesses } from '../../../src/service/isolation/processes.ts';
import { sendSignal } from '../../../src/service/lifecycle/process.ts';
import { openStore } from '../../../src/service/storage/index.ts';
import type { SandboxSpecName } from '../../../src/service/sandboxes/worker-protocol.ts';
import { describeEachSpec } from '../../support/bubblewrap.ts';
import { countEvents, PACKAGE_ROOT, startedTask, until } from '../app/support.ts';

let dir: string;
let dataDir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-orphans-'));
  dataDir = path.join(dir, 'data');
});
afterEach(async () => {
  if (serviceStatus(dataDir).running) await stopService(dataDir);
  for (const pid of survivors()) sendSignal(pid, 'SIGKILL');
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

const canWake = spawnSync('setpriv', ['--pdeathsig', 'CONT', 'true']).status === 0;

/** Living processes that work in the data directory or below a worker that does: all of this service. */
function survivors(): number[] {
  if (process.platform !== 'linux') return [];
  const rooted = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && cwdOf(pid).startsWith(dataDir));
  const all = rooted.flatMap((pid) => [
    Number(pid),
    ...selectProcesses({ below: Number(pid), marked: null, except: [] }),
  ]);
  return [...new Set(all)].filter((pid) => !ended(pid));
}

function cwdOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function cmdlineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

function stateOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.charAt(0) ?? '-';
  } catch {
    return '-';
  }
}

const ended = (pid: number): boolean => 'ZX-'.includes(stateOf(pid));

/** A service in the background with a sandbox in which a command runs that never ends. */
async function busyService(spec: SandboxSpecName) {
  const service = await ensureLocalService({
    dataDir,
    root: PACKAGE_ROOT,
    version: '1.0.0',
    env: { PATH: process.env.PATH, HOME: dir },
    spec,
    idleTimeoutMs: 0,
  });
  const call = async (method: string, target: string, body?: unknown) => {
    const headers = { 'X-Session-API-Key': service.key, 'Content-Type': 'application/json' };
    const answer = await fetch(service.url + target, { method, headers, body: body && JSON.stringify(body) } as never);
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };
  const command = '(setsid sleep 4321 > /dev/null 2>&1 &); sleep 4321';
  const endless = JSON.stringify([
    { source: 'user', action: 'message', args: { content: 'Wait.' } },
    { source: 'agent', action: 'run', args: { command } },
  ]);
  const { app_conversation_id: id, sandbox_id: sandbox } = await startedTask({ call }, { replay_json: endless });
  await until(
    () => countEvents({ call }, id, '&kind__eq=ActionEvent'),
    (count) => Number(count) > 0,
  );
  const store = openStore(path.join(dataDir, 'service.db'));
  const worker = store.sandboxes.get(sandbox ?? '')?.worker_pid ?? 0;
  store.close();
  return { pid: service.pid, call, sandbox: sandbox ?? '', worker };
}

const noneLeft = () =>
  until(
    () => survivors().map((pid) => `${pid} ${stateOf(pid)}`),
    (left) => left.length === 0,
  );

describeEachSpec('a service that is killed and never started again, with a sandbox of %s', (spec) => {
  it('leaves no process of a paused sandbox', async () => {
    const { pid, call, sandbox } = await busyService(spec);
    expect((await call('POST', `/api/v1/sandboxes/${sandbox}/pause`)).status).toBe(200);
    await until(
      async () => (await call('GET', `/api/v1/sandboxes?id=${sandbox}`)).body,
      (body) => (body as { status: string }[])[0]?.status === 'PAUSED',
    );
    expect(survivors().length).toBeGreaterThan(2);
    process.kill(pid, 'SIGKILL');
    await noneLeft();
  });

  it.runIf(canWake)('leaves no process of a sandbox whose worker was stopped by a signal', async () => {
    const { pid, worker } = await busyService(spec);
    process.kill(worker, 'SIGSTOP');
    await until(
      () => stateOf(worker),
      (state) => state === 'T',
    );
    process.kill(pid, 'SIGKILL');
    await noneLeft();
  });
});

describe('a service that is killed while it clones', () => {
  it.runIf(canWake)('leaves no git process that waits for a silent host', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    try {
      const repository = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/owner/name.git`;
      const { pid, url, key } = await ensureLocalService({
        dataDir,
        root: PACKAGE_ROOT,
        version: '1.0.0',
        env: { PATH: process.env.PATH, HOME: dir },
        spec: 'process',
      });
      await fetch(`${url}/api/v1/app-conversations`, {
        method: 'POST',
        headers: { 'X-Session-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ selected_repository: repository, replay_json: 'demo' }),
      });
      const clones = () => selectProcesses({ below: null, marked: `ACS_STAGING=${dataDir}/staging`, except: [] });
      const helpers = (all: number[]) => all.filter((each) => cmdlineOf(each).includes('git-remote-http'));
      await until(clones, (all) => helpers(all).length > 0);
      process.kill(pid, 'SIGKILL');
      await until(clones, (all) => all.length === 0);
    } finally {
      silent.close();
    }
  });
});

describe('without isolation', () => {
  it.runIf(canWake)('a helper that was stopped by a command ends when its worker is killed', async () => {
    const { worker } = await busyService('process');
    const [helper] = selectProcesses({ below: worker, marked: null, except: [] });
    const inside = selectProcesses({ below: helper ?? 0, marked: null, except: [] });
    expect(inside.length).toBeGreaterThan(0);
    process.kill(helper ?? 0, 'SIGSTOP');
    process.kill(worker, 'SIGKILL');
    await until(
      () => [...inside, helper ?? 0].filter((pid) => !ended(pid)),
      (left) => left.length === 0,
    );
  });
});
