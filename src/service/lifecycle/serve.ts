/** Puts a service together in this process: data directory, lock, store, supervisor, app server, and its end. */
import { createApp } from '../app/app.ts';
import { endClones } from '../app/repositories/clone.ts';
import type { AppContext } from '../app/context.ts';
import { createPageAccess } from '../app/page/access.ts';
import { createViewers, type Viewers } from '../app/page/viewers.ts';
import { createNoticeKeeper } from '../app/conversation-notices.ts';
import { providerAccess } from '../app/settings/providers.ts';
import { emptySettings, gitIdentity, readSettings } from '../app/settings/record.ts';
import type { SpecChoice } from '../sandboxes/specs.ts';
import { createStarter } from '../app/starts/starter.ts';
import { createSupervisor, type SupervisorOptions } from '../sandboxes/supervisor.ts';
import { createEventLogs, type EventLogs } from '../storage/event-logs.ts';
import { openStore, type Store } from '../storage/index.ts';
import { readReplayFile } from '../agents/replay/file.ts';
import type { ReplayStep } from '../agents/replay/steps.ts';
import { readScenario, type FaultRule } from '../faults/scenario.ts';
import { closeServer, createHttpServer, listen, listenPreferring, portOf } from '../http/server.ts';
import { createActivity, watchIdle } from './activity.ts';
import { createClock, type Clock } from './clock.ts';
import { inDatabase, inDataDir, prepareDataDir } from './data-dir.ts';
import { ServiceError } from './failure.ts';
import { ensureKey } from './key.ts';
import { readPort, rememberPort } from './port-file.ts';
import { chooseSpecs } from './isolation.ts';
import { isHeld, takeLock, type HeldLock } from './lock.ts';
import {
  DEFAULT_IDLE_TIMEOUT_MS,
  type RunningService,
  type ServiceOptions,
  type ServeFlags,
} from './service-options.ts';
import { dataPaths } from './paths.ts';
import { selfIdentity } from './process.ts';
import { recover } from './recover.ts';
import { writePrivateFile } from './small-file.ts';
import { removeState, type ServiceState } from './state-file.ts';

/** Starts the service; see startService in ../index.ts. */
export async function serve(options: ServiceOptions): Promise<RunningService> {
  // Before any change: an error in the file must have no effect.
  const rules = options.scenario === undefined ? [] : readScenario(options.scenario);
  const replay = options.replay === undefined ? null : readReplayFile(options.replay);
  const paths = dataPaths(options.dataDir);
  const specs = await chooseSpecs(options);
  prepareDataDir(options.dataDir);
  const lock = own(paths.lock, options.dataDir);
  let store: Store | null = null;
  try {
    const key = inDataDir(options.dataDir, () => ensureKey(paths.key));
    store = inDatabase(options.dataDir, paths.database, () => openStore(paths.database));
    return await run(options, { key, store, lock, rules, specs, replay });
  } catch (error) {
    store?.close();
    lock.release();
    throw error;
  }
}

interface Prepared {
  key: string;
  store: Store;
  lock: HeldLock;
  rules: FaultRule[];
  specs: SpecChoice;
  replay: ReplayStep[] | null;
}

async function run(
  options: ServiceOptions,
  { key, store, lock, rules, specs, replay }: Prepared,
): Promise<RunningService> {
  const paths = dataPaths(options.dataDir);
  const host = options.host ?? '127.0.0.1';
  const log = options.log ?? ((): void => undefined);
  const clock = createClock();
  inDataDir(options.dataDir, () => {
    endClones(paths.staging);
    recover({ store, paths, clock, log });
  });
  const logs = createEventLogs(paths.events);
  const notices = createNoticeKeeper(store, logs, log);
  const viewers = createViewers();
  store.onWrite(viewers.notify);
  const { context, end } = assemble({
    options,
    key,
    store,
    rules,
    specs,
    replay,
    clock,
    logs,
    viewers,
    onConversation(sandboxId, notice) {
      notices.keep(sandboxId, notice);
      viewers.notify();
    },
  });
  const { activity } = context;
  const { fetch } = createApp(context);
  const isAnyPort = (options.port ?? 0) === 0;
  const server = createHttpServer(fetch);
  const listening = isAnyPort
    ? listenPreferring(server, host, readPort(paths.port))
    : listen(server, host, options.port ?? 0);
  await listening.catch(async (error: unknown) => {
    await end();
    throw listenError(error as NodeJS.ErrnoException, host, options.port ?? 0);
  });
  const port = portOf(server);
  if (isAnyPort) rememberPort(paths.port, port, log);
  const url = `http://${reachable(host)}:${port}`;
  const { version, scenario = null, life = 'foreground' } = options;
  const flags = flagsOf(options);
  const place = {
    host,
    port,
    url,
    version,
    api: context.api,
    scenario,
    replay: flags.replay ?? null,
    life,
    asked: flags,
  };
  const state = stateOf(place, clock);
  try {
    inDataDir(options.dataDir, () => {
      writePrivateFile(paths.state, `${JSON.stringify(state)}\n`);
    });
  } catch (error) {
    await closeServer(server, end);
    throw error;
  }
  if (specs.warning !== null) log(`warning: ${specs.warning}`);
  if (scenario !== null) log(`fault: ${scenario} (rules: ${rules.length})`);
  const { service, settle } = createEnding({ url, key, port });
  const idle = watchIdle({
    activity,
    // A start may take longer than the timeout, for example with a clone of a large repository. A page is a client while
    // its browser shows it: a hidden one has no connection.
    isBusy: () =>
      store.conversations.isAnyRunning() ||
      store.startTasks.unfinished().length > 0 ||
      context.supervisor.subscribers() > 0 ||
      viewers.count() > 0,
    timeoutMs: options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    onIdle: () => {
      void service.close('idle timeout');
    },
  });
  settle(async (why) => {
    log(`ending: ${why}`);
    idle.stop();
    removeState(paths.state, state);
    await closeServer(server, end);
    notices.close();
    logs.close();
    store.close();
    lock.release();
    log('ended');
  });
  return service;
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): ServiceError {
  const why = error.code === 'EADDRINUSE' ? 'the port is in use' : error.message;
  return new ServiceError('listen', `cannot listen on ${host} port ${port}: ${why}`, { cause: error });
}

interface Parts {
  options: ServiceOptions;
  key: string;
  store: Store;
  rules: FaultRule[];
  specs: SpecChoice;
  replay: ReplayStep[] | null;
  clock: Clock;
  logs: EventLogs;
  viewers: Viewers;
  onConversation: SupervisorOptions['onConversation'];
}

/** What the routes work with, and how it is ended. */
function assemble({ options, key, store, rules, specs, replay, clock, logs, viewers, onConversation }: Parts): {
  context: AppContext;
  end(): Promise<void>;
} {
  const paths = dataPaths(options.dataDir);
  const log = options.log ?? ((): void => undefined);
  const supervisor = createSupervisor({
    store,
    clock,
    root: options.root,
    specs,
    workspacesDir: paths.workspaces,
    eventsDir: paths.events,
    env: options.env,
    log,
    onConversation,
    faults: rules.filter((rule) => rule.server === 'agent'),
    defaultReplay: replay,
    ...(options.maxRunning === undefined ? {} : { maxRunning: options.maxRunning }),
    initialEnv: () => gitIdentity(readSettings(store.documents) ?? emptySettings()),
  });
  const starter = createStarter({
    store,
    supervisor,
    clock,
    env: options.env,
    stagingDir: paths.staging,
    settings: () => readSettings(store.documents) ?? emptySettings(),
    providerAccess: (provider) => providerAccess(store.documents, provider),
    log,
  });
  const context: AppContext = {
    store,
    supervisor,
    starter,
    logs,
    clock,
    key,
    api: options.api ?? 'both',
    host: options.host ?? '127.0.0.1',
    version: options.version,
    specs,
    log,
    faults: rules.filter((rule) => rule.server === 'app'),
    defaultReplay: replay,
    pages: { access: createPageAccess(clock), viewers },
    activity: createActivity(clock),
  };
  const end = async (): Promise<void> => {
    viewers.close();
    await Promise.all([starter.close(), supervisor.close()]);
  };
  return { context, end };
}

/** The address for requests from this machine: a wildcard address cannot be connected to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** Takes the lock of the data directory. Throws ServiceError when another service has it. */
function own(file: string, dataDir: string): HeldLock {
  const taken = inDataDir(dataDir, () => takeLock(file, selfIdentity()));
  if (isHeld(taken)) return taken;
  throw new ServiceError('locked', `another local service (pid ${taken.pid}) is using ${dataDir}`, {
    hint: 'Use that one, end it with `acs serve --stop`, or set ACS_DATA_DIR to another folder.',
  });
}

function stateOf(place: Omit<ServiceState, 'pid' | 'process_start' | 'started_at'>, clock: Clock): ServiceState {
  const { pid, start } = selfIdentity();
  return { pid, process_start: start, started_at: clock.stamp(), ...place };
}

function flagsOf({ host, port, api, spec, idleTimeoutMs, scenario, replay }: ServiceOptions): ServeFlags {
  return { host, port, api, spec, idleTimeoutMs, scenario, replay };
}

/** A service that ends once; `settle` sets what ends it. */
function createEnding(place: { url: string; key: string; port: number }): {
  service: RunningService;
  settle(end: (why: string) => Promise<void>): void;
} {
  const state: { end: (why: string) => Promise<void>; ending: Promise<void> | null } = {
    end: () => Promise.resolve(),
    ending: null,
  };
  let resolveEnded = (_why: string): void => undefined;
  const ended = new Promise<string>((resolve) => {
    resolveEnded = resolve;
  });
  const service: RunningService = {
    ...place,
    ended,
    close(why = 'asked to') {
      state.ending ??= state.end(why).then(() => {
        resolveEnded(why);
      });
      return state.ending;
    },
  };
  return {
    service,
    settle: (end) => {
      state.end = end;
    },
  };
}
