/**
 * What a case did on its target, for whoever looks into a failure: each command with its exit code
 * and output.
 */
import { AppError } from '../../src/base/errors.ts';
import type { Ended, Invocation } from '../support/world.ts';
import { STEP_MS, type Target } from './target.ts';

const LONGEST_OUTPUT = 400;
const LONGEST_TRANSCRIPT = 6_000;

export interface Transcript {
  /** The commands since the last `take`; the oldest are left out when there are many. */
  take(): string;
}

/** Records the commands that `target` runs from now on, and interrupts one that does not end. */
export function record(target: Target): Transcript {
  const invoke = target.invoke.bind(target);
  let steps: string[] = [];
  target.invoke = async (invocation) => {
    const limit = new AbortController();
    const over = new AppError(
      'interrupted',
      `acs ${invocation.args[0]} did not end within ${STEP_MS / 1000} s`,
    );
    const timer = setTimeout(() => limit.abort(over), STEP_MS);
    const signal = AbortSignal.any([
      limit.signal,
      ...(invocation.signal ? [invocation.signal] : []),
    ]);
    const ended = await invoke({ ...invocation, signal }).finally(() => clearTimeout(timer));
    steps.push(step(invocation, ended));
    return ended;
  };
  return {
    take() {
      const text = steps.join('\n');
      steps = [];
      return text.length <= LONGEST_TRANSCRIPT ? text : `…\n${text.slice(-LONGEST_TRANSCRIPT)}`;
    },
  };
}

function step({ args }: Invocation, { code, out, err }: Ended): string {
  const output = [out, err].map((text) => shortened(text.trimEnd())).filter((text) => text !== '');
  return [`$ acs ${args.join(' ')}`, ...output, `(exit ${code})`].join('\n');
}

/** The ends of a text. */
export function shortened(text: string, longest = LONGEST_OUTPUT): string {
  return text.length <= longest
    ? text
    : `${text.slice(0, longest / 2)} … ${text.slice(-longest / 2)}`;
}
