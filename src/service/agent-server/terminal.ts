import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { cut, shortened } from '../../base/text/well-formed.ts';
import type { TerminalStep, ToolStep } from '../base/steps.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { Sandbox } from '../isolation/sandbox.ts';
import type { Conversation } from './conversation.ts';
import { textContent } from './events.ts';
import { movedCommand } from './recorded-paths.ts';
import { BoundedText, notRun, runShell, type ShellResult, type ShellSession } from './shell.ts';

const LIMIT_SECONDS = 600;
/** As in openhands-sdk 1.58.0: the call of a command that is silent for this time returns. */
const SILENT_MS = 30_000;
const INTERRUPT = 'C-c';
const LONGEST_NAME = 60;
/** Characters of the output of a setup script that has failed. */
const SHOWN_OUTPUT = 2000;
const NEXT =
  'To wait for it, call terminal with is_input and an empty command; to end it, with is_input ' +
  `and the command ${INTERRUPT}. A server is started in the background: nohup <command> > ` +
  '<file> 2>&1 &';

type Step = TerminalStep & Pick<ToolStep, 'call'>;
type Observation = Record<string, unknown>;

interface Running {
  name: string;
  since: number;
  limitSeconds: number;
  output: BoundedText;
  onOutput: () => void;
  abort: AbortController;
  ended: Promise<ShellResult>;
  hasEnded: boolean;
}

/** The terminal of a conversation: each command has a shell, which continues the session. */
export class Terminal {
  readonly #sandbox: Sandbox;
  readonly #conversation: Conversation;
  #session: ShellSession;
  /** The command whose call has returned before its end. */
  #left: Running | null = null;

  constructor(sandbox: Sandbox, conversation: Conversation) {
    this.#sandbox = sandbox;
    this.#conversation = conversation;
    this.#session = this.#newSession();
  }

  /** That in which the next command starts. */
  get folder(): string {
    return this.#session.cwd;
  }

  #newSession(): ShellSession {
    const { working_dir: cwd } = this.#conversation.state;
    return { id: randomUUID(), cwd, env: null, definitions: '' };
  }

  /** Ends the command whose call has returned. */
  endLeft(): void {
    this.#left?.abort.abort();
  }

  /** Null: the signal has ended the command. */
  async execute(step: Step, signal: AbortSignal): Promise<Observation | null> {
    if (step.reset) {
      this.endLeft();
      this.#left = null;
      this.#session = this.#newSession();
    }
    const left = this.#left;
    if (step.is_input) return this.#input(step, left, signal);
    if (left?.hasEnded === false)
      return this.#unfinished(step, left, 'This command was not executed. ');
    let endOfLeft = '';
    if (left !== null) {
      const result = await left.ended;
      const end = `${result.stdout}${result.stderr}${endOf(left, result)}`;
      endOfLeft = `[The command \`${left.name}\` has ended:]\n${end}\n`;
    }
    this.#left = null;
    const seconds = step.timeout_seconds ?? LIMIT_SECONDS;
    // A recorded command has the paths of the machine that it was recorded on.
    const isRecorded = step.call === undefined;
    const { working_dir } = this.#conversation.state;
    const command = isRecorded ? movedCommand(step.command, working_dir) : step.command;
    const running = this.#start(command, seconds);
    running.output.push(Buffer.from(endOfLeft));
    const awaitsEnd = isRecorded || step.timeout_seconds !== undefined;
    return this.#await(step, running, signal, awaitsEnd ? null : SILENT_MS);
  }

  async #input(step: Step, left: Running | null, signal: AbortSignal): Promise<Observation | null> {
    if (left === null)
      return this.#observation(step, notRun('No command is running that could read this input.'));
    if (step.command.trim() === INTERRUPT) left.abort.abort();
    else if (step.command !== '')
      return this.#unfinished(step, left, 'A running command gets no input. ');
    return this.#await(step, left, signal, null, step.timeout_seconds);
  }

  #start(command: string, limitSeconds: number): Running {
    const abort = new AbortController();
    const output = new BoundedText();
    const { environment: env, state } = this.#conversation;
    const shell = {
      command,
      cwd: state.working_dir,
      env,
      stdout: output,
      stderr: null,
      timeoutMs: limitSeconds * 1000,
      signal: abort.signal,
      onOutput: () => running.onOutput(),
    };
    const ended = runShell(this.#sandbox, shell, this.#session)
      .catch((error: unknown): ShellResult => {
        if (!(error instanceof IsolationError)) throw error;
        const { code, message } = error;
        const all = `Everything in the sandbox was ended while the command ran (${message}).`;
        const result = notRun(code === 'gone' ? all : message);
        return { ...result, killed: abort.signal.aborted };
      })
      .finally(() => (running.hasEnded = true));
    // Nothing awaits a command whose call has returned.
    ended.catch(() => undefined);
    const running: Running = {
      name: shortened(command, LONGEST_NAME),
      since: performance.now(),
      limitSeconds,
      output,
      onOutput: () => undefined,
      abort,
      ended,
      hasEnded: false,
    };
    return running;
  }

  /** `silentMs` null: waits for the end, for `mostSeconds` at most. */
  async #await(
    step: Step,
    running: Running,
    signal: AbortSignal,
    silentMs: number | null,
    mostSeconds = Infinity,
  ): Promise<Observation | null> {
    let stop = (): void => undefined;
    const isLong = new Promise<null>((resolve) => {
      const begin = (): void => {
        stop();
        stop = this.#sandbox.countdown(silentMs ?? mostSeconds * 1000, () => resolve(null));
      };
      if (silentMs !== null) running.onOutput = begin;
      begin();
    });
    try {
      const result = await endedBy(signal, running, Promise.race([running.ended, isLong]));
      this.#left = result === null ? running : null;
      if (result !== null)
        return result.killed && signal.aborted
          ? null
          : this.#observation(step, result, endOf(running, result));
      const why = silentMs === null ? '' : `No output for ${Math.round(silentMs / 1000)} s. `;
      return this.#unfinished(step, running, why);
    } finally {
      running.onOutput = () => undefined;
      stop();
    }
  }

  #unfinished(step: Step, running: Running, why: string): Observation {
    const seconds = Math.round((performance.now() - running.since) / 1000);
    const { name, limitSeconds, output } = running;
    const limit = `and is ended after ${limitSeconds} s.`;
    const state = `The command \`${name}\` has run for ${seconds} s, ${limit}`;
    // Not in the suffix: repeated waits would count as equal results, and the run as stuck.
    const text = `${output.take().trimEnd()}\n[${why}${state} ${NEXT}]`.trimStart();
    return this.#observation(step, notRun(text), '');
  }

  #observation(
    step: Step,
    { exitCode, timedOut, pid, stdout, stderr }: ShellResult,
    suffix = `\n[The command completed with exit code ${exitCode}.]`,
  ): Observation {
    const { cwd: working_dir } = this.#session;
    const text = `${stdout}${stderr}`.replace(/\r?\n$/, '');
    return {
      content: textContent(this.#conversation.masked(text)),
      is_error: false,
      command: step.command,
      exit_code: exitCode,
      timeout: timedOut,
      metadata: { exit_code: exitCode, pid, working_dir, prefix: '', suffix },
      kind: 'TerminalObservation',
    };
  }

  /** Runs the setup script of the repository in the session. `notice`: how it ended. */
  async setUp(script: string, signal: AbortSignal): Promise<{ notice: string; output: string }> {
    const { working_dir } = this.#conversation.state;
    const command = `. ${shellQuote(path.posix.join(working_dir, script))}`;
    const running = this.#start(command, LIMIT_SECONDS);
    const result = await endedBy(signal, running, running.ended);
    this.#session.cwd = working_dir;
    const output = this.#conversation.masked(`${result.stdout}${result.stderr}`.trim());
    if (result.exitCode === 0) return { notice: `The setup script ${script} has run.`, output };
    const how = howEnded(result, signal.aborted);
    const last = output && ` The end of its output:\n${cut(output, -SHOWN_OUTPUT)}`;
    return { notice: `The setup script ${script} ${how}; the run goes on.${last}`, output };
  }
}

/** The signal ends the command until `result` is there, also where it was aborted before. */
function endedBy<T>(signal: AbortSignal, { abort }: Running, result: Promise<T>): Promise<T> {
  const onAbort = (): void => abort.abort();
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();
  return result.finally(() => signal.removeEventListener('abort', onAbort));
}

function howEnded({ timedOut, killed, exitCode }: ShellResult, isPausing: boolean): string {
  if (timedOut) return `was ended after ${LIMIT_SECONDS} s`;
  const isEnded = killed && isPausing;
  return isEnded ? 'was ended by a pause of the sandbox' : `failed with exit code ${exitCode}`;
}

function endOf({ limitSeconds }: Running, { timedOut, killed, exitCode }: ShellResult): string {
  if (!killed) return `\n[The command completed with exit code ${exitCode}.]`;
  const why = timedOut ? `ran longer than its time limit of ${limitSeconds} s and ` : '';
  return `\n[The command ${why}was ended. Directory and variables are those from before it.]`;
}
