import { once } from 'node:events';
import { homedir } from 'node:os';
import { createApp } from './app/app.ts';
import { createAppContext } from './app/context.ts';
import { endClones } from './app/repository.ts';
import { hiddenFolders } from './isolation/bubblewrap.ts';
import { chooseLimits } from './isolation/limits.ts';
import { shownTools } from './isolation/tools.ts';
import { removeOldCaches } from './sandboxes/caches.ts';
import { chooseSpecs } from './sandboxes/specs.ts';
import { openStore } from './storage/index.ts';
import { readReplayFile } from './agents/replay/file.ts';
import { cut } from '../base/text/well-formed.ts';
import { readScenario } from './faults/schema.ts';
import { closeServer, createHttpServer, listen, listenPreferring, portOf } from './http/server.ts';
import { watchIdle } from './lifecycle/activity.ts';
import { createClock } from './lifecycle/clock.ts';
import {
  dataDirError,
  inDataDir,
  lockDataDir,
  prepareDataDir,
  refuseNewStore,
  dataPaths,
} from './lifecycle/data-dir.ts';
import { ServiceError } from './base/failure.ts';
import {
  DEFAULT_IDLE_TIMEOUT_MS,
  type RunningService,
  type ServiceOptions,
} from './lifecycle/service-options.ts';
import { recover } from './recover.ts';
import { readPort, writePrivateFile } from './lifecycle/small-file.ts';
import { publishState, stateOf } from './lifecycle/state-file.ts';

export async function serve(options: ServiceOptions): Promise<RunningService> {
  const { dataDir, env, root, version, maxRunning, log = () => undefined } = options;
  const { host = '127.0.0.1', api = 'both', port: wanted = 0 } = options;
  // Before any change: an error in a file must have no effect.
  const faults = options.scenario === undefined ? [] : readScenario(options.scenario);
  const defaultReplay = options.replay === undefined ? null : readReplayFile(options.replay);
  const paths = dataPaths(dataDir);
  const specs = await chooseSpecs(options);
  const { limits, missing } = await chooseLimits(options, env, specs.whyNoBubblewrap === null);
  prepareDataDir(dataDir);

  const parts: (() => unknown)[] = [];
  const endParts = async (): Promise<void> => {
    for (const end of parts.splice(0).reverse()) await end();
  };
  try {
    const { key, release } = lockDataDir(dataDir);
    parts.push(release);
    const store = inDataDir(dataDir, () =>
      openStore(paths.database, () => refuseNewStore(dataDir)),
    );
    parts.push(store.close);
    const clock = createClock(options.now);
    endClones(paths.staging);
    await recover(store, paths, clock, log).catch((error: unknown) => {
      throw dataDirError(dataDir, error);
    });
    const context = createAppContext(
      { store, clock, key, api, host, version, root, specs, log, faults, defaultReplay },
      paths,
      { env, limits, ...(maxRunning === undefined ? {} : { maxRunning }) },
    );
    parts.push(context.close);
    const server = createHttpServer(createApp(context).fetch);
    const lastPort = readPort(paths.port);
    await listenAt(server, host, wanted, lastPort);
    parts.push(() => closeServer(server, context.stop));
    const port = portOf(server);
    if (wanted === 0 && port !== lastPort)
      inDataDir(dataDir, () => writePrivateFile(paths.port, `${port}\n`));
    const state = stateOf(options, port, clock.stamp());
    parts.push(inDataDir(dataDir, () => publishState(paths.state, state)));
    const { supervisor } = context;
    removeOldCaches(paths.caches, clock.now(), (name) => supervisor.usesCache(name)).catch(
      (error: unknown) => log(`a cache could not be removed: ${String(error)}`),
    );
    if (specs.warning !== null) log(`warning: ${specs.warning}`);
    const home = homedir();
    const { leftOut } = shownTools(env, hiddenFolders(dataDir, home), home);
    if (specs.whyNoBubblewrap === null && leftOut.length > 0)
      log(`warning: sandboxes do not have ${cut(leftOut.join(', '), 2000)}`);
    if (missing.length > 0) log(`warning: sandboxes have no limit on ${missing.join(', ')}`);
    if (state.scenario !== null) log(`fault: ${state.scenario} (rules: ${faults.length})`);

    const stop = new AbortController();
    const ended = once(stop.signal, 'abort').then(async () => {
      const why = String(stop.signal.reason);
      log(`stopping: ${why}`);
      await endParts();
      log('ended');
      return why;
    });
    const { idleTimeoutMs = DEFAULT_IDLE_TIMEOUT_MS } = options;
    parts.push(
      watchIdle(context.activity, idleTimeoutMs, context.isBusy, () => {
        stop.abort('idle timeout');
      }),
    );
    const close = async (why = 'on request'): Promise<void> => {
      stop.abort(why);
      await ended;
    };
    return { url: state.url, key, port, ended, close };
  } catch (error) {
    await endParts();
    throw error;
  }
}

/** Port 0: `preferred` if it is free, else any free one. */
async function listenAt(
  server: ReturnType<typeof createHttpServer>,
  host: string,
  port: number,
  preferred: number,
): Promise<void> {
  try {
    await (port === 0 ? listenPreferring(server, host, preferred) : listen(server, host, port));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is in use' : message;
    throw new ServiceError('listen', `cannot listen on ${host} port ${port}: ${why}`, {
      cause: error,
    });
  }
}
