import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ensureLocalService } from '../../../src/service/index.ts';
import { selectProcesses } from '../../../src/service/isolation/processes.ts';
import { sendSignal } from '../../../src/base/process.ts';
import { openStore } from '../../../src/service/storage/index.ts';
import type { SandboxSpecName } from '../../../src/service/base/worker-protocol.ts';
import { describeEachSpec } from '../../support/bubblewrap.ts';
import { startRaw, untilTestEnds } from '../../support/server.ts';
import { isAlive, stateOf } from '../agent-server/support/worker.ts';
import { countEvents, startedTask, trajectory, until } from '../app/support.ts';
import { clientOf, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();
afterEach(() => {
  for (const pid of survivors()) sendSignal(pid, 'SIGKILL');
});

const canWake = spawnSync('setpriv', ['--pdeathsig', 'CONT', 'true']).status === 0;

/**
 * Living processes that work in the data directory or below a worker that does: all of this
 * service.
 */
function survivors(): number[] {
  if (process.platform !== 'linux') return [];
  const rooted = readdirSync('/proc').filter(
    (pid) => /^\d+$/.test(pid) && cwdOf(pid).startsWith(services.dataDir),
  );
  const all = rooted.flatMap((pid) => [
    Number(pid),
    ...selectProcesses({ below: Number(pid), marked: null, except: [] }),
  ]);
  return [...new Set(all)].filter(isAlive);
}

/** Empty when the process is gone. */
function read(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
const cwdOf = (pid: string): string => read(() => readlinkSync(`/proc/${pid}/cwd`));
const cmdlineOf = (pid: number): string => read(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'));

/** A service in the background with a sandbox in which a command runs that never ends. */
async function busyService(spec: SandboxSpecName) {
  const service = await ensureLocalService(services.options({ spec }));
  const { call } = clientOf(service);
  const command = '(setsid sleep 4321 > /dev/null 2>&1 &); sleep 4321';
  const replay_json = trajectory(command);
  const { app_conversation_id: id, sandbox_id: sandbox } = await startedTask(
    { call },
    { replay_json },
  );
  await until(
    () => countEvents({ call }, id, '&kind__eq=ActionEvent'),
    (count) => Number(count) > 0,
  );
  const store = openStore(path.join(services.dataDir, 'service.db'));
  const worker = store.sandboxes.get(sandbox ?? '')?.worker_pid ?? 0;
  store.close();
  return { pid: service.pid, call, sandbox: sandbox ?? '', worker };
}

const noneLeft = () =>
  until(
    () => survivors().map((pid) => `${pid} ${stateOf(pid)}`),
    (left) => left.length === 0,
  );

describeEachSpec(
  'a service that is killed and never started again, with a sandbox of %s',
  (spec) => {
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

    it.runIf(canWake)(
      'leaves no process of a sandbox whose worker was stopped by a signal',
      async () => {
        const { pid, worker } = await busyService(spec);
        process.kill(worker, 'SIGSTOP');
        await until(() => stateOf(worker) === 'T');
        process.kill(pid, 'SIGKILL');
        await noneLeft();
      },
    );
  },
);

describe('a service that is killed while it clones', () => {
  it.runIf(canWake)('leaves no git process that waits for a silent host', async () => {
    const { url } = await untilTestEnds(startRaw(null));
    const repository = `${url}/owner/name.git`;
    const service = await ensureLocalService(services.options());
    const { call } = clientOf(service);
    await call('POST', '/api/v1/app-conversations', {
      selected_repository: repository,
      replay_json: 'demo',
    });
    const clones = () =>
      selectProcesses({
        below: null,
        marked: `ACS_STAGING=${services.dataDir}/staging`,
        except: [],
      });
    const helpers = (all: number[]) =>
      all.filter((each) => cmdlineOf(each).includes('git-remote-http'));
    await until(clones, (all) => helpers(all).length > 0);
    process.kill(service.pid, 'SIGKILL');
    await until(clones, (all) => all.length === 0);
  });
});

describe('without isolation', () => {
  it.runIf(canWake)(
    'a helper that was stopped by a command ends when its worker is killed',
    async () => {
      const { worker } = await busyService('process');
      const [helper] = selectProcesses({ below: worker, marked: null, except: [] });
      const inside = selectProcesses({ below: helper ?? 0, marked: null, except: [] });
      expect(inside.length).toBeGreaterThan(0);
      process.kill(helper ?? 0, 'SIGSTOP');
      process.kill(worker, 'SIGKILL');
      await until(() => ![...inside, helper ?? 0].some(isAlive));
    },
  );
});
