/** The decision at the start of a service: which specs of sandboxes work on this machine. */
import { specChoice, type SpecChoice } from '../sandboxes/specs.ts';
import { TrialFailed, whyNoBubblewrap } from '../isolation/detect.ts';
import { ServiceError } from './failure.ts';
import type { ServiceOptions } from './service-options.ts';

/**
 * Tries bubblewrap. It does not work when it is not installed or not permitted; then the default spec is `process`.
 * With `spec` `process` it does not work after any failure of the trial: nothing is isolated then, and a request for
 * isolation is refused.
 * @throws ServiceError `isolation` when the trial fails for another reason; `unsupported` when the default that a
 *   flag selects does not work
 */
export async function chooseSpecs({ spec, env }: Pick<ServiceOptions, 'spec' | 'env'>): Promise<SpecChoice> {
  const why = await trial(spec, env);
  if (why !== null && spec !== undefined && spec !== 'process') {
    throw new ServiceError('unsupported', `bubblewrap does not work here (${why}), and the spec ${spec} was asked for`);
  }
  return specChoice(spec ?? null, why);
}

async function trial(spec: ServiceOptions['spec'], env: ServiceOptions['env']): Promise<string | null> {
  try {
    return await whyNoBubblewrap(env);
  } catch (error) {
    if (!(error instanceof TrialFailed)) throw error;
    if (spec === 'process') return `its trial failed: ${error.message}`;
    throw new ServiceError('isolation', `the trial of bubblewrap failed: ${error.message}`, {
      hint: 'remove the cause and try again, or run commands without isolation: acs serve --detach --spec process',
      cause: error,
    });
  }
}
