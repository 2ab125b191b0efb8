/**
 * The local service as the command line uses it. It loads the server, its storage and their libraries only when a
 * service is started in this process.
 *
 * `app/` answers requests, `storage/` stores what was acknowledged, `lifecycle/` starts, finds and stops the service,
 * `agent-server/` is the agent server of one sandbox, `isolation/` isolates its commands and files, `replay/` reads
 * recorded trajectories, `faults/` injects faults.
 */
import type { ServiceOptions, RunningService } from './lifecycle/service-options.ts';

export { tryIsolation } from './isolation/detect.ts';
export { askActivity } from './lifecycle/ask-activity.ts';
export { defaultDataDir } from './lifecycle/data-dir.ts';
export { checkReplay, checkScenario, ensureLocalService } from './lifecycle/ensure.ts';
export type { RunningService, ServiceApi, ServiceOptions } from './lifecycle/service-options.ts';
export { logFile } from './lifecycle/paths.ts';
export { runningService, serviceStatus } from './lifecycle/status.ts';
export { stopService } from './lifecycle/stop.ts';

/**
 * Starts the local service in this process and answers when it listens. The caller ends it with `close()` on SIGINT,
 * SIGTERM and SIGHUP; `ended` settles when it ends by itself (idle).
 * @throws ServiceError when the data directory cannot be used, another service owns it, or the port is taken.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { serve } = await import('./lifecycle/serve.ts');
  return serve(options);
}
