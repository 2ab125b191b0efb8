/**
 * The face of the local service: what the command line may use of it. Light to import: the server itself, its store and
 * their libraries are loaded when a service is started in this process.
 *
 * Below: `app/` answers requests, `store/` keeps what was acknowledged, `life/` starts, finds and ends the service,
 * `worker/` is the agent server of one sandbox, `jail/` its isolation, `replay/` reads recorded trajectories.
 */
import type { ServiceOptions, RunningService } from './life/options.ts';

export { askActivity } from './life/ask-activity.ts';
export { defaultDataDir } from './life/data-dir.ts';
export { checkReplay, checkScenario, ensureLocalService } from './life/ensure.ts';
export type { RunningService, ServiceApi, ServiceOptions } from './life/options.ts';
export { logFile } from './life/paths.ts';
export { runningService, serviceStatus } from './life/status.ts';
export { stopService } from './life/stop.ts';

/**
 * Starts the local service in this process and answers when it listens. The caller ends it with `close()` on SIGINT,
 * SIGTERM and SIGHUP; `ended` settles when it ends by itself (idle).
 * @throws ServiceError when the data directory cannot be used, another service owns it, or the port is taken.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { serve } = await import('./life/serve.ts');
  return serve(options);
}
