/** What a case did on its target, for whoever looks into a failure: each command with its exit code and output. */
import type { Ended, Invocation } from '../support/world.ts';
import type { Target } from './target.ts';

const LONGEST_OUTPUT = 400;
const LONGEST_TRANSCRIPT = 6_000;

export interface Transcript {
  /** The commands since the last `take`; the oldest are left out when there are many. */
  take(): string;
}

/** Records the commands that `target` runs from now on. */
export function record(target: Target): Transcript {
  const invoke = target.invoke.bind(target);
  let steps: string[] = [];
  target.invoke = async (invocation) => {
    const ended = await invoke(invocation);
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
  return text.length <= longest ? text : `${text.slice(0, longest / 2)} … ${text.slice(-longest / 2)}`;
}
