/** The local service as the command line uses it; the server and its libraries are loaded only when it is started. */
import type { ServiceOptions, RunningService } from './lifecycle/service-options.ts';

export { checkFiles, ensureLocalService, stopService } from './lifecycle/background.ts';
export { dataPaths, defaultDataDir, tryDataDir } from './lifecycle/data-dir.ts';
export {
  DEFAULT_IDLE_TIMEOUT_MS,
  type RunningService,
  type ServiceApi,
  type ServiceOptions,
} from './lifecycle/service-options.ts';
export { askActivity, runningService } from './lifecycle/state-file.ts';

/** Throws ServiceError when the data directory cannot be used, another service owns it, or the port is taken. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { serve } = await import('./lifecycle/serve.ts');
  return serve(options);
}
