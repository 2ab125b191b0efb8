import { createActivity } from '../lifecycle/activity.ts';
import type { Clock } from '../lifecycle/clock.ts';
import type { dataPaths } from '../lifecycle/data-dir.ts';
import type { ServiceApi } from '../lifecycle/service-options.ts';
import type { ReplayStep } from '../base/steps.ts';
import type { FaultRule } from '../faults/schema.ts';
import type { SpecChoice } from '../sandboxes/specs.ts';
import { Supervisor, type SupervisorOptions } from '../sandboxes/supervisor.ts';
import { gitIdentity } from '../settings/settings.ts';
import { EventLogs } from '../storage/event-logs.ts';
import type { Store } from '../storage/index.ts';
import { createNoticeKeeper } from './conversation-notices.ts';
import { createPages } from './pages.ts';
import { Starter } from './starts/starter.ts';
import { createV0EventReader } from './v0-events.ts';

interface AppOptions {
  store: Store;
  clock: Clock;
  key: string;
  api: ServiceApi;
  host: string;
  version: string;
  root: string;
  specs: SpecChoice;
  log(line: string): void;
  faults: readonly FaultRule[];
  /** The replay of conversations that name no replay; null: they use the model of the settings. */
  defaultReplay: ReplayStep[] | null;
}

export type AppContext = ReturnType<typeof createAppContext>;

export function createAppContext(
  options: AppOptions,
  paths: ReturnType<typeof dataPaths>,
  sandboxes: Pick<SupervisorOptions, 'env' | 'limits' | 'maxRunning' | 'keepMs'>,
) {
  const { store, clock, log, faults } = options;
  const logs = new EventLogs(paths.events);
  const notices = createNoticeKeeper(store, logs, log);
  const pages = createPages(clock);
  store.onWrite(pages.notify);
  const supervisor = new Supervisor({
    ...options,
    ...sandboxes,
    faults: faults.filter(({ server }) => server === 'agent'),
    workspacesDir: paths.workspaces,
    eventsDir: paths.events,
    database: paths.database,
    initialEnv: () => gitIdentity(store.documents),
    onConversation(sandboxId, notice) {
      notices.keep(sandboxId, notice);
      pages.notify();
    },
  });
  const { env } = sandboxes;
  const starter = new Starter({ store, supervisor, clock, env, stagingDir: paths.staging, log });
  return {
    ...options,
    supervisor,
    starter,
    logs,
    pages,
    activity: createActivity(clock),
    readV0Events: createV0EventReader(logs),
    startedAt: clock.stamp(),
    isBusy: (): boolean =>
      store.conversations.countRunning() > 0 ||
      // A start may take longer than the timeout, for example with a clone of a large repository.
      store.startTasks.unfinished().length > 0 ||
      supervisor.subscribers() > 0 ||
      // A page is a client while its browser shows it: a hidden one has no connection.
      pages.viewers() > 0,
    /** Ends starts, sandboxes and open pages; the routes still answer. */
    async stop(): Promise<void> {
      pages.close();
      await Promise.all([starter.close(), supervisor.close()]);
    },
    /** Writes what is not yet stored, after `stop`. */
    close(): void {
      notices.close();
      logs.close();
    },
  };
}
