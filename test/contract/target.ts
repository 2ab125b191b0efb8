/**
 * The contract of acs as cases that any server is put to: the local service, and genuine servers of
 * some releases. Here: what a case may ask of the server it runs on. `cases/` holds the cases by
 * subject, `local.ts` and `genuine.ts` make the targets, `contract.test.ts` runs the one that the
 * environment names.
 */
import type { Ended, Invocation } from '../support/world.ts';
import type { ScenarioWord } from '../genuine/model.ts';
import { AppError } from '../../src/base/errors.ts';

/**
 * For one command, request or wait of a case. A batch of two tasks took more than a minute on a
 * busy machine.
 */
export const STEP_MS = 120_000;

export type Dialect = 'v0' | 'v1' | 'agent';

/** What the agent of a conversation does; see test/genuine/model.ts. */
export type Scenario = ScenarioWord;

export interface Repository {
  /**
   * Flags of `conv new` that name it; it has the branches main and next, and matrix with the files
   * to change.
   */
  flags: string[];
  /** The same for one that is not there. */
  unknown: string[];
  /** Where it lies, to be cloned past the server. */
  dir: string;
  /** Where a git host serves it, with credentials; the local service clones it from `dir`. */
  url?: string;
}

/** What a server does otherwise than the newest release, where a case has to know it. */
export type Trait =
  // It has V0's route alone to delete a conversation, which may delete the sandbox with it.
  | 'deletes over V0'
  // It answers no request for the events of a V1 conversation while a step of the agent runs.
  | 'events wait for the step'
  // Its agent server cannot interrupt a step.
  | 'no interrupt'
  // It stores the limit of steps and does not apply it to V1 conversations.
  | 'no step limit in V1';

export interface Target {
  readonly name: string;
  readonly dialects: readonly Dialect[];
  /**
   * Genuine servers always have a scripted model; the local service plays recorded runs of most
   * scenarios.
   */
  readonly hasModel: boolean;
  /** Of a scripted model for the others. */
  readonly modelUrl?: string;
  readonly traits: readonly Trait[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly dir: string;
  readonly key: string;
  /** Specs there are, the default first. */
  readonly specs: readonly [string, string];
  readonly repository: Repository;
  invoke: (invocation: Invocation) => Promise<Ended>;
  acs(...args: string[]): Promise<Ended>;
  /**
   * Arguments of `conv new` for a conversation whose agent does this. The command of SLOW is held
   * from then on.
   */
  begin(scenario: Scenario): Promise<string[]>;
  /** A running sandbox that cases share; they neither pause nor delete it. */
  sandbox(): Promise<string>;
  /**
   * A request to the app server past acs, to arrange or to look. The body is parsed JSON, or text.
   */
  request(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
  /**
   * Adds that many conversations at once, past the interface; where that cannot be done it is not
   * there.
   */
  fill?(count: number): Promise<void>;
  /** Lets the command of every SLOW run end. */
  releaseCommands(): Promise<void>;
  /**
   * Sends the answers that a scripted model has withheld; where there is no model it is not there.
   */
  releaseModel?(): void;
  /** Ends the server and starts it again on the same data and port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/**
 * `unsupported`: the server cannot do it, and acs exited with 12. `notHere`: the case cannot come
 * about on this target for another reason, which is printed below the table with the answer of the
 * server that shows it. `conversationSeconds`: it passed, and a client needed so long from the
 * creation of a conversation to the end of its run, which is printed below the table.
 */
export type Verdict =
  'passed' | 'unsupported' | { notHere: string } | { conversationSeconds: number };

export interface ContractCase {
  name: string;
  /** Where the same case is run in each dialect: which one this is. */
  dialect?: Dialect;
  run(target: Target): Promise<Verdict | void>;
}

// What a case did on its target, for whoever looks into a failure: each command with its exit code
// and output.

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
