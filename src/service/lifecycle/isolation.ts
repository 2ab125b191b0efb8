/** The decision at the start of a service: which specs of sandboxes work on this machine. */
import { specChoice, type SpecChoice } from '../sandboxes/specs.ts';
import { TrialFailed, whyNoBubblewrap } from '../isolation/detect.ts';
import { ServiceError } from './failure.ts';
import type { ServiceOptions } from './options.ts';

/**
 * Tries bubblewrap. It does not work when it is not installed or not permitted; then the default spec is `process`.
 * @throws ServiceError `isolation` when the trial fails for another reason; `unsupported` when the default that was
 *   asked for does not work
 */
export async function chooseSpecs({ spec, env }: Pick<ServiceOptions, 'spec' | 'env'>): Promise<SpecChoice> {
  const why = await trial(env);
  if (why !== null && spec !== undefined && spec !== 'process') {
    throw new ServiceError('unsupported', `bubblewrap does not work here (${why}), and the spec ${spec} was asked for`);
  }
  return specChoice(spec ?? null, why);
}

async function trial(env: ServiceOptions['env']): Promise<string | null> {
  try {
    return await whyNoBubblewrap(env);
  } catch (error) {
    if (!(error instanceof TrialFailed)) throw error;
    throw new ServiceError('isolation', `the trial of bubblewrap failed: ${error.message}`, {
      hint: 'whether sandboxes can be isolated is not known, so none is started; try again when the cause is gone',
      cause: error,
    });
  }
}
