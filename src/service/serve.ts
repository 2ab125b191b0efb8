import { rmSync } from 'node:fs';
import { createApp } from './app/app.ts';
import { endClones } from './app/repository.ts';
import type { AppContext } from './app/context.ts';
import { createPages } from './app/pages.ts';
import { createV0EventReader } from './app/v0-events.ts';
import { createNoticeKeeper } from './app/conversation-notices.ts';
import { gitIdentity } from './settings/settings.ts';
import { chooseLimits } from './isolation/limits.ts';
import { chooseSpecs } from './sandboxes/specs.ts';
import { Starter } from './app/starts/starter.ts';
import { Supervisor } from './sandboxes/supervisor.ts';
import { EventLogs } from './storage/event-logs.ts';
import { openStore } from './storage/index.ts';
import { readReplayFile } from './agents/replay/file.ts';
import { readScenario } from './faults/schema.ts';
import { closeServer, createHttpServer, listen, listenPreferring, portOf } from './http/server.ts';
import { createActivity, watchIdle } from './lifecycle/activity.ts';
import { createClock } from './lifecycle/clock.ts';
import {
  dataDirError,
  inDataDir,
  prepareDataDir,
  refuseNewStore,
  dataPaths,
} from './lifecycle/data-dir.ts';
import { ServiceError } from './base/failure.ts';
import { isHeld, takeLock } from '../base/lock.ts';
import {
  DEFAULT_IDLE_TIMEOUT_MS,
  type RunningService,
  type ServiceOptions,
} from './lifecycle/service-options.ts';
import { selfIdentity } from '../base/process.ts';
import { recover } from './recover.ts';
import { ensureKey, readPort, refuseUnless, writePrivateFile } from './lifecycle/small-file.ts';
import { readState, type ServiceState } from './lifecycle/state-file.ts';

export async function serve(options: ServiceOptions): Promise<RunningService> {
  const { dataDir, env, root, version, log = () => undefined, maxRunning } = options;
  const { host = '127.0.0.1', port: givenPort = 0, api = 'both' } = options;
  // Before any change: an error in a file must have no effect.
  const rules = options.scenario === undefined ? [] : readScenario(options.scenario);
  const defaultReplay = options.replay === undefined ? null : readReplayFile(options.replay);
  const paths = dataPaths(dataDir);
  const specs = await chooseSpecs(options);
  const { limits, missing } = await chooseLimits(options, env, specs.whyNoBubblewrap === null);
  prepareDataDir(dataDir);

  const parts: (() => unknown)[] = [];
  const end = async (): Promise<void> => {
    for (const endPart of parts.splice(0).reverse()) await endPart();
  };
  try {
    const lock = inDataDir(dataDir, () => {
      refuseUnless('file', paths.lock);
      return takeLock(paths.lock);
    });
    if (!isHeld(lock)) {
      throw new ServiceError(
        'locked',
        `another local service (pid ${lock.pid}) is using ${dataDir}`,
        {
          hint:
            'Use that one, stop it with `acs serve --stop`, or set ACS_DATA_DIR to another ' +
            'folder.',
        },
      );
    }
    parts.push(lock.release);
    const key = inDataDir(dataDir, () => ensureKey(paths.key));
    const store = inDataDir(dataDir, () =>
      openStore(paths.database, () => {
        refuseNewStore(dataDir);
      }),
    );
    parts.push(store.close);
    const clock = createClock(options.now);
    endClones(paths.staging);
    await recover(store, paths, clock, log).catch((error: unknown) => {
      throw dataDirError(dataDir, error);
    });

    const logs = new EventLogs(paths.events);
    const notices = createNoticeKeeper(store, logs, log);
    parts.push(() => logs.close(), notices.close);
    const pages = createPages(clock);
    store.onWrite(pages.notify);
    const supervisor = new Supervisor({
      store,
      clock,
      root,
      specs,
      limits,
      workspacesDir: paths.workspaces,
      eventsDir: paths.events,
      database: paths.database,
      env,
      log,
      onConversation(sandboxId, notice) {
        notices.keep(sandboxId, notice);
        pages.notify();
      },
      faults: rules.filter((rule) => rule.server === 'agent'),
      defaultReplay,
      ...(maxRunning === undefined ? {} : { maxRunning }),
      initialEnv: () => gitIdentity(store.documents),
    });
    const starter = new Starter({
      store,
      supervisor,
      clock,
      env,
      stagingDir: paths.staging,
      log,
    });
    const context: AppContext = {
      store,
      supervisor,
      starter,
      logs,
      clock,
      key,
      api,
      host,
      version,
      root,
      specs,
      log,
      faults: rules.filter((rule) => rule.server === 'app'),
      defaultReplay,
      pages,
      activity: createActivity(clock),
      readV0Events: createV0EventReader(logs),
      startedAt: clock.stamp(),
    };

    const server = createHttpServer(createApp(context).fetch);
    // The port of the service before, so that clients can reconnect.
    const lastPort = readPort(paths.port);
    const listening =
      givenPort === 0 ? listenPreferring(server, host, lastPort) : listen(server, host, givenPort);
    await listening.catch((error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'the port is in use' : message;
      throw new ServiceError('listen', `cannot listen on ${host} port ${givenPort}: ${why}`, {
        cause: error,
      });
    });
    parts.push(() =>
      closeServer(server, async () => {
        pages.close();
        await Promise.all([starter.close(), supervisor.close()]);
      }),
    );
    const port = portOf(server);
    const state = stateOf(options, port, clock.stamp());
    inDataDir(dataDir, () => {
      if (givenPort === 0 && port !== lastPort) writePrivateFile(paths.port, `${port}\n`);
      writePrivateFile(paths.state, `${JSON.stringify(state)}\n`);
    });
    parts.push(() => {
      // Unless another service has written its own since.
      const found = readState(paths.state);
      if (found?.pid === state.pid && found.process_start === state.process_start)
        rmSync(paths.state, { force: true });
    });
    if (specs.warning !== null) log(`warning: ${specs.warning}`);
    if (missing.length > 0) log(`warning: sandboxes have no limit on ${missing.join(', ')}`);
    if (state.scenario !== null) log(`fault: ${state.scenario} (rules: ${rules.length})`);

    let setEnded = (_why: string): void => undefined;
    const ended = new Promise<string>((resolve) => {
      setEnded = resolve;
    });
    let ending: Promise<void> | null = null;
    const close = (why = 'on request'): Promise<void> => {
      if (ending === null) log(`stopping: ${why}`);
      ending ??= end().then(() => {
        log('ended');
        setEnded(why);
      });
      return ending;
    };
    const isBusy = (): boolean =>
      store.conversations.countRunning() > 0 ||
      // A start may take longer than the timeout, for example with a clone of a large repository.
      store.startTasks.unfinished().length > 0 ||
      supervisor.subscribers() > 0 ||
      // A page is a client while its browser shows it: a hidden one has no connection.
      pages.viewers() > 0;
    parts.push(
      watchIdle(context.activity, options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS, isBusy, () => {
        void close('idle timeout');
      }),
    );
    return { url: state.url, key, port, ended, close };
  } catch (error) {
    await end();
    throw error;
  }
}

function stateOf(options: ServiceOptions, port: number, started_at: string): ServiceState {
  const { host = '127.0.0.1', api = 'both', scenario, replay, version } = options;
  const { spec, sandboxMemory, sandboxProcesses, idleTimeoutMs } = options;
  // A wildcard address cannot be connected to.
  const wildcards: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = wildcards[host] ?? host;
  const { pid, start } = selfIdentity();
  return {
    pid,
    process_start: start,
    started_at,
    host,
    port,
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    version,
    api,
    scenario: scenario ?? null,
    replay: replay ?? null,
    life: options.life ?? 'foreground',
    asked: {
      host: options.host,
      port: options.port,
      api: options.api,
      spec,
      sandboxMemory,
      sandboxProcesses,
      idleTimeoutMs,
      scenario,
      replay,
    },
  };
}
