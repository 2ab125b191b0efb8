/** The local service as the command line uses it; starting it loads the server. */
import { valueAt } from '../protocol/settings.ts';
import type { StoredSettings } from './settings/settings.ts';
import { dataPaths } from './lifecycle/data-dir.ts';
import type { ServiceOptions, RunningService } from './lifecycle/service-options.ts';

export {
  checkFiles,
  ensureLocalService,
  settledService,
  stopService,
} from './lifecycle/background.ts';
export { dataPaths, defaultDataDir, tryDataDir } from './lifecycle/data-dir.ts';
export {
  DEFAULT_IDLE_TIMEOUT_MS,
  type RunningService,
  type ServeFlags,
  type ServiceApi,
  type ServiceOptions,
} from './lifecycle/service-options.ts';
export { askActivity, runningService } from './lifecycle/state-file.ts';

/** Null: no key is stored. A service may be using the directory. */
export async function storedModelKey(dataDir: string): Promise<string | null> {
  const { readStoredDocument } = await import('./storage/database.ts');
  const settings = readStoredDocument(
    dataPaths(dataDir).database,
    'settings',
  ) as StoredSettings | null;
  const key = valueAt(settings?.agent ?? {}, 'llm.api_key');
  return typeof key === 'string' ? key : null;
}

/** Throws ServiceError: the data directory is unusable or owned by another, the port in use. */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const { serve } = await import('./serve.ts');
  return serve(options);
}
