/** The flags of `acs serve` beside a local service that runs already: it keeps what it was started with. */
import { AppError } from '../errors.ts';
import type { LocalService, RunningFlags, RunningStatus, ServeOptions } from '../service-control.ts';
import { formatDuration } from '../text/duration.ts';

/** `--port 0` selects any free port. */
const ANY_PORT = 0;
const END_IT = { hint: 'end it first: acs serve --stop' };

/**
 * The service of this data directory, when it runs as these flags request; null: none runs.
 * @throws AppError `conflict` when a flag differs from what the service runs with
 */
export async function runningAlready(options: ServeOptions, service: LocalService): Promise<RunningStatus | null> {
  const status = await service.status(options.dataDir);
  if (!status.running) return null;
  const others = differences(options, status.flags);
  if (others.length === 0) return status;
  throw new AppError('conflict', `the local service (pid ${status.pid}) runs already, ${others.join(', ')}`, END_IT);
}

/**
 * Throws `conflict` when `--data-dir` names another directory than the one of the user's service, and that one runs:
 * the profile `local` would still use it.
 */
export async function refuseOtherDataDir({ dataDir }: ServeOptions, service: LocalService): Promise<void> {
  if (dataDir === undefined) return;
  const own = await service.status();
  if (!own.running || own.data_dir === dataDir) return;
  const { pid } = await service.status(dataDir); // two names of one directory have the same service
  if (pid === own.pid) return;
  throw new AppError('conflict', `the local service (pid ${own.pid}) runs already, with its data in ${own.data_dir}`, {
    hint: `${END_IT.hint}; for a second service set ACS_DATA_DIR=${dataDir}`,
  });
}

function differences(options: ServeOptions, running: RunningFlags): string[] {
  const { host, port, api, spec, idleTimeoutMs, scenario, replay } = options;
  return [
    host === undefined || sameHost(host, running.host) ? '' : `on host ${running.host} instead of ${host}`,
    port === undefined || port === ANY_PORT || port === running.port
      ? ''
      : `on port ${running.port} instead of ${port}`,
    api === undefined || api === running.api ? '' : otherValue('--api', api, running.api),
    spec === undefined || spec === running.spec ? '' : otherValue('--spec', spec, running.spec),
    idleTimeoutMs === undefined || idleTimeoutMs === running.idleTimeoutMs
      ? ''
      : `with --idle-timeout ${formatDuration(running.idleTimeoutMs)} instead of ${formatDuration(idleTimeoutMs)}`,
    replay === undefined || replay === running.replay ? '' : otherValue('--replay', replay, running.replay),
    // Even with the same file: its rules may have passed, and a script would be tested without faults.
    scenario === undefined ? '' : 'without this scenario',
  ].filter((text) => text !== '');
}

function otherValue(flag: string, wanted: string, running: string | null): string {
  return running === null ? `without ${flag} ${wanted}` : `with ${flag} ${running} instead of ${wanted}`;
}

function sameHost(one: string, other: string): boolean {
  const plain = (host: string) =>
    host
      .trim()
      .toLowerCase()
      .replace(/^\[|\]$/g, '')
      .replace(/^localhost$/, '127.0.0.1');
  return plain(one) === plain(other);
}
