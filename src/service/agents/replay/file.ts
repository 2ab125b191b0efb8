/** The trajectory of `acs serve --replay`: the replay of a conversation whose request names none. */
import { readFileSync, statSync } from 'node:fs';
import { ServiceError } from '../../lifecycle/failure.ts';
import { demoSteps } from './demo.ts';
import { parseTrajectory } from './parse.ts';
import type { ReplayStep } from './steps.ts';

/** Names the built-in trajectory instead of a file. */
export const DEMO = 'demo';

/** As much as a request may hold. */
const LARGEST_BYTES = 32 * 1024 * 1024;

/**
 * The steps of a trajectory.
 * @param named absolute path of a file, or `demo`
 * @throws ServiceError `replay`, with the path and what is wrong
 */
export function readReplayFile(named: string): ReplayStep[] {
  if (named === DEMO) return demoSteps();
  try {
    const found = statSync(named);
    // A pipe or a device can be read once at most; a service in the background reads the file again.
    if (!found.isFile()) throw new Error('it is not a regular file');
    if (found.size > LARGEST_BYTES) throw new Error('it is larger than 32 MiB');
    return parseTrajectory(readFileSync(named, 'utf8')).steps;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const known = { ENOENT: 'there is no such file', EACCES: 'permission denied' }[code ?? ''];
    throw new ServiceError('replay', `cannot use the replay ${named}: ${known ?? message}`, {
      hint: 'record one: acs conv events <id> --json > run.json; or use the built-in one: --replay demo',
      cause: error,
    });
  }
}
