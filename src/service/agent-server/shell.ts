/** Shell commands, in sessions that keep directory and environment from one command to the next. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { shellQuote } from '../../output/text/shell-quote.ts';
import { IsolationError } from '../isolation/connection.ts';
import type { RunResult, Sandbox } from './sandbox.ts';

/** Linux takes at most 128 KiB in one argument. */
const LONGEST_ARGUMENT = 100_000;
/** Characters of the output of a tool that are kept, half from each end; the limit of genuine servers. */
export const KEPT_OUTPUT = 30_000;
/** Prints what a shell does not pass to its children: functions, and variables that are not exported (bash 4.4 and later). */
const DEFINITIONS =
  'set +u; declare -f; compgen -A variable | while IFS= read -r acs_name; do ' +
  'case ${!acs_name@a} in *[rx]*) ;; *) declare -p "$acs_name";; esac; done';
const LARGEST_STATE = 8 * 1024 * 1024;

/** Inside are the programs of this machine. */
export const SHELL =
  ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => existsSync(file)) ?? '/bin/sh';

export interface ShellCommand {
  command: string;
  /** Relative to the workspace. */
  cwd: string;
  env: Record<string, string>;
  /** True: stderr goes where stdout goes, in order, as on a terminal. */
  merged: boolean;
  /** Characters kept from the beginning and from the end of each stream; the part between is counted and dropped. */
  keepHead: number;
  keepTail: number;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** Gets the kept beginning while the command runs. */
  onOutput?: ((stream: 'stdout' | 'stderr', text: string) => void) | undefined;
}

export interface ShellResult extends RunResult {
  stdout: string;
  stderr: string;
}

/** What one command of a session passes to the next; `env` is null before the first one. */
export interface ShellSession {
  readonly id: string;
  cwd: string;
  env: Record<string, string> | null;
}

/** A missing directory gives exit code -1. `session` null: a shell of its own. Throws IsolationError. */
export async function runShell(
  sandbox: Sandbox,
  wanted: ShellCommand,
  session: ShellSession | null,
): Promise<ShellResult> {
  const { scratch } = await sandbox.folders();
  const state = session && path.join(scratch, session.id);
  let script = wanted.command;
  if (Buffer.byteLength(script) > LONGEST_ARGUMENT) {
    const file = path.join(scratch, `command-${randomUUID()}`);
    const data = Buffer.from(script).toString('base64');
    await sandbox.ask('write', { path: file, token: randomUUID(), data, then: 'done' }, wanted.signal);
    script = `. ${shellQuote(file)}`;
  }
  if (state !== null) {
    const note = `{ printf '%s\\0' "$PWD"; command -p env -0; } >${shellQuote(state)} 2>/dev/null`;
    const definitions = shellQuote(`${state}.definitions`);
    const define = `(${DEFINITIONS}) >${definitions} 2>/dev/null`;
    const before = session?.env == null ? '' : `. ${definitions} 2>/dev/null; `;
    // A line of its own, which the shell does not repeat with an error of syntax.
    script = `${before}trap ${shellQuote(`acs_code=$?; set +e; ${note}; ${define}; exit $acs_code`)} EXIT\n${script}`;
  }
  if (wanted.merged) script = `exec 2>&1; ${script}`;
  const texts = {
    stdout: new BoundedText(wanted.keepHead, wanted.keepTail),
    stderr: new BoundedText(wanted.keepHead, wanted.keepTail),
  };
  const run = (cwd: string): Promise<RunResult> =>
    sandbox.run(
      {
        argv: [SHELL, '-c', `${script}\n`],
        cwd,
        env: { ...session?.env, ...wanted.env },
        inherits: session?.env == null,
      },
      {
        timeoutMs: wanted.timeoutMs,
        signal: wanted.signal,
        onOutput: (stream, data) => {
          const text = texts[stream].push(data);
          if (text !== '') wanted.onOutput?.(stream, text);
        },
      },
    );
  let result: RunResult;
  try {
    result = await run(session?.cwd ?? wanted.cwd).catch((error: unknown) => {
      // A command of the session has removed its directory.
      if (session !== null && error instanceof IsolationError && error.code === 'not-found') return run(wanted.cwd);
      throw error;
    });
  } catch (error) {
    if (!(error instanceof IsolationError) || error.code !== 'not-found') throw error;
    return { exitCode: -1, pid: -1, timedOut: false, killed: false, stdout: '', stderr: error.message };
  }
  if (session !== null && state !== null) {
    // The shell may have been ended, or replaced (`exec`), before it wrote them.
    const written = await sandbox.readFile(state, LARGEST_STATE).catch(() => Buffer.of());
    const [cwd = '', ...variables] = written.toString('utf8').split('\0').slice(0, -1);
    if (cwd.startsWith('/') && variables.length > 0) {
      session.cwd = cwd;
      session.env = Object.fromEntries(
        variables.flatMap((variable) => {
          const equals = variable.indexOf('=');
          return equals < 1 ? [] : [[variable.slice(0, equals), variable.slice(equals + 1)]];
        }),
      );
    }
  }
  return { ...result, stdout: texts.stdout.end(), stderr: texts.stderr.end() };
}

/** Keeps the beginning and the end of a text. Invalid UTF-8 becomes replacement characters. */
export class BoundedText {
  readonly #decoder = new StringDecoder('utf8');
  readonly #keepHead: number;
  readonly #keepTail: number;
  #head = '';
  #tail: string[] = [];
  #tailLength = 0;
  #dropped = 0;

  constructor(keepHead: number, keepTail: number) {
    this.#keepHead = keepHead;
    this.#keepTail = keepTail;
  }

  push(chunk: Buffer): string {
    return this.#add(this.#decoder.write(chunk));
  }

  end(): string {
    this.#add(this.#decoder.end());
    const tail = this.#tail.join('');
    const dropped = this.#dropped + Math.max(0, tail.length - this.#keepTail);
    if (dropped === 0) return this.#head + tail;
    return `${this.#head}\n[... ${String(dropped)} characters of output left out ...]\n${tail.slice(-this.#keepTail)}`;
  }

  #add(text: string): string {
    const head = text.slice(0, Math.max(0, this.#keepHead - this.#head.length));
    this.#head += head;
    const tail = text.slice(head.length);
    if (tail !== '') this.#tail.push(tail);
    this.#tailLength += tail.length;
    while (this.#tail.length > 1 && this.#tailLength - (this.#tail[0]?.length ?? 0) >= this.#keepTail) {
      const length = this.#tail.shift()?.length ?? 0;
      this.#tailLength -= length;
      this.#dropped += length;
    }
    return head;
  }
}
