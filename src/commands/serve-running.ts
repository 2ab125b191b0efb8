/** The flags of `acs serve` beside a local service that runs already: it keeps what it was started with. */
import { AppError } from '../errors.ts';
import type { LocalService, LocalServiceStatus, RunningFlags, ServeOptions } from '../service-control.ts';
import { formatDuration } from '../text/duration.ts';

export const END_IT = { hint: 'end it first: acs serve --stop' };

/** Throws `conflict` when a flag asks for something else than the service runs with. */
export function refuseOtherFlags(options: ServeOptions, { pid, flags }: LocalServiceStatus): void {
  const others = flags === null ? [] : differences(options, flags);
  if (others.length > 0)
    throw new AppError('conflict', `the local service (pid ${pid}) runs already, ${others.join(', ')}`, END_IT);
}

/**
 * Throws `conflict` when `--data-dir` names another directory than the one of the user's service, and that one runs:
 * the profile `local` would go on using it.
 */
export async function refuseOtherDataDir({ dataDir }: ServeOptions, service: LocalService): Promise<void> {
  if (dataDir === undefined) return;
  const { running, pid, data_dir: used } = await service.status();
  if (!running || used === dataDir) return;
  throw new AppError('conflict', `the local service (pid ${pid}) runs already, with its data in ${used}`, {
    hint: `${END_IT.hint}; for a second service set ACS_DATA_DIR=${dataDir}`,
  });
}

function differences({ host, port, api, idleTimeoutMs, replay }: ServeOptions, running: RunningFlags): string[] {
  return [
    host === undefined || sameHost(host, running.host) ? '' : `on host ${running.host} instead of ${host}`,
    port === undefined || port === running.port ? '' : `on port ${running.port} instead of ${port}`,
    api === undefined || api === running.api ? '' : `with --api ${running.api} instead of ${api}`,
    idleTimeoutMs === undefined || idleTimeoutMs === running.idleTimeoutMs
      ? ''
      : `with --idle-timeout ${formatDuration(running.idleTimeoutMs)} instead of ${formatDuration(idleTimeoutMs)}`,
    replay === undefined || replay === running.replay ? '' : withoutReplay(replay, running.replay),
  ].filter((text) => text !== '');
}

function withoutReplay(wanted: string, running: string | null): string {
  return running === null ? `without --replay ${wanted}` : `with --replay ${running} instead of ${wanted}`;
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
