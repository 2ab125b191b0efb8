/** The processes of a sandbox, as seen from the host. */
import { selectProcesses } from '../../../../src/service/isolation/processes.ts';
import { type Place, stateOf } from './worker.ts';

/** Every process that carries the mark of the sandbox. */
export function processesOf(place: Place): number[] {
  return selectProcesses({ below: null, marked: `ACS_SANDBOX_ID=${place.sandboxId}`, except: [] });
}

/** The states of those that live: T is stopped. */
export function statesOf(place: Place): string[] {
  return processesOf(place)
    .map(stateOf)
    .filter((state) => state !== '' && state !== 'Z');
}
