import { existsSync } from 'node:fs';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { cut } from '../../base/text/well-formed.ts';
import { onRefusal } from '../isolation/connection.ts';
import type { RunResult, Sandbox } from '../isolation/sandbox.ts';

/** Characters of a tool's output that are kept, half from each end, as on genuine servers. */
export const KEPT_OUTPUT = 30_000;
const LARGEST_STATE = 16 * 1024 * 1024;

export const SHELL =
  ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'].find((file) => existsSync(file)) ??
  '/bin/sh';
const IS_BASH = SHELL.endsWith('/bash');
/** The command is in stdin: in a command line, `pkill -f` of it would find the shell itself. */
const READ = `eval "$(command -p cat)"${IS_BASH ? "$'\\n'" : ''}`;

/** Prints functions, and variables that are not exported (bash 4.4 and later). */
const DEFINITIONS =
  'declare -f; compgen -A variable | while IFS= read -r acs_name; do case ${!acs_name@a} in ' +
  '*[rx]*) ;; *) declare -p "$acs_name";; esac; done';
/** Keeps `$?`, also after `set -e`. Its trace (`set -x`) and errors are not output. */
const KEEP = '{ acs_keep && :; } 2>/dev/null';
/** A command's trap for EXIT runs after KEEP. In POSIX mode no function may have this name. */
const TRAP =
  '[[ -o posix ]] || trap() { builtin trap "$@" && { [ "$BASHPID" != "$$" ] || case ' +
  '"$(builtin trap -p EXIT)" in *acs_keep*) ;; *) eval "set -- $(builtin trap -p EXIT)"; ' +
  `builtin trap -- '${KEEP}; '"\${3-}" EXIT;; esac; } 2>/dev/null; }; `;

export interface ShellCommand {
  command: string;
  cwd: string;
  env: Record<string, string>;
  stdout: BoundedText;
  /** Null: stderr goes where stdout goes, in order, as on a terminal. */
  stderr: BoundedText | null;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
  /** `text` is empty for what is not kept at the beginning. */
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
  definitions: string;
}

export function notRun(stderr: string): ShellResult {
  return { exitCode: -1, pid: -1, timedOut: false, killed: false, stdout: '', stderr };
}

/** A missing directory gives exit code -1. `session` null: a shell of its own. */
export async function runShell(
  sandbox: Sandbox,
  shellCommand: ShellCommand,
  session: ShellSession | null,
): Promise<ShellResult> {
  const { command, cwd, env, stdout, stderr, timeoutMs, signal } = shellCommand;
  const { scratch } = await sandbox.folders();
  const state = session && path.join(scratch, session.id);
  // The shell repeats a line with an error of syntax: each part has its own. A redirection of READ
  // would keep its stdin open as 10, which a command may use itself.
  const lines = session && state ? [keeping(state, session.definitions, command)] : [];
  const merged = stderr === null ? ' 2>&1' : '';
  const script = `exec </dev/null${merged}; ${[...lines, command].join('\n')}`;
  const texts = { stdout, stderr: stderr ?? stdout };
  const runIn = (folder: string): Promise<RunResult> =>
    sandbox.run(
      {
        // Bash reads ~/.bashrc with `-c` and a socket as stdin; another shell may read more of
        // stdin than a line.
        argv: IS_BASH ? [SHELL] : [SHELL, '-c', READ],
        stdin: IS_BASH ? `${READ}\n${script}` : script,
        cwd: folder,
        env: { ...session?.env, ...env },
        inherits: session?.env == null,
      },
      {
        timeoutMs,
        signal,
        onOutput: (stream, data) => {
          const text = texts[stream].push(data);
          shellCommand.onOutput?.(stream, text);
        },
      },
    );
  const result = await runIn(session?.cwd ?? cwd)
    .catch(onRefusal('not-found', () => runIn(cwd)))
    .catch(onRefusal('not-found', ({ message }) => message));
  if (typeof result === 'string') return notRun(result);
  if (session !== null && state !== null) {
    const written = await sandbox.readFile(state, LARGEST_STATE).catch(() => Buffer.of());
    Object.assign(session, stateOf(written.toString('utf8')));
  }
  return { ...result, stdout: stdout.end(), stderr: stderr?.end() ?? '' };
}

/** Null: the shell was ended, or replaced (`exec`), before it had written its state. */
function stateOf(written: string): Omit<ShellSession, 'id'> | null {
  const [cwd = '', ...rest] = written.split('\0');
  const end = rest.indexOf('');
  if (!cwd.startsWith('/') || end < 1 || rest.length !== end + 3) return null;
  const variables = rest.slice(0, end).flatMap((variable) => {
    const equals = variable.indexOf('=');
    return equals < 1 ? [] : [[variable.slice(0, equals), variable.slice(equals + 1)]];
  });
  return {
    cwd,
    env: Object.fromEntries(variables) as Record<string, string>,
    definitions: rest[end + 1] ?? '',
  };
}

/** Restores the definitions, and writes the state for the next command when the shell ends. */
function keeping(file: string, definitions: string, command: string): string {
  const escaped = definitions.replace(/[\\'\n]/g, (character) =>
    character === '\n' ? '\\n' : `\\${character}`,
  );
  const restore = definitions === '' ? '' : `eval $'${escaped}' 2>/dev/null; `;
  // A command may have put a folder, a link or an unreadable file there.
  const remove = '[ -f "$2" -a -r "$2" -a -w "$2" -a ! -L "$2" ] || command -p rm -rf "$2"';
  const end = `printf '\\0'`;
  const write = `printf '%s\\0' "$PWD"; command -p env -0; ${end}; ${DEFINITIONS}; ${end}`;
  const keep = `set +eux; umask 077; unset -f trap acs_keep; ${remove}; { ${write}; } >|"$2"`;
  const define = `acs_keep() { set -- "$?" ${shellQuote(file)}; (${keep}) || :; return "$1"; }; `;
  // Bash would execute the trap for RETURN of the command at the end of this function.
  const isTrapKept = IS_BASH && !/\bRETURN\b/.test(definitions + command);
  return `${restore}${define}trap ${shellQuote(KEEP)} EXIT; ${isTrapKept ? TRAP : ''}`;
}

/** Keeps characters at both ends; the part between is counted and dropped. */
export class BoundedText {
  readonly #decoder = new StringDecoder('utf8');
  readonly #keepHead: number;
  readonly #keepTail: number;
  #head = '';
  #tail: string[] = [];
  #tailLength = 0;
  #dropped = 0;

  constructor(keepHead = KEPT_OUTPUT / 2, keepTail = KEPT_OUTPUT / 2) {
    this.#keepHead = keepHead;
    this.#keepTail = keepTail;
  }

  push(chunk: Buffer): string {
    return this.#add(this.#decoder.write(chunk));
  }

  end(): string {
    this.#add(this.#decoder.end());
    return this.take();
  }

  /** The text since the last call. */
  take(): string {
    const head = this.#head;
    const rest = this.#tail.join('');
    const tail = cut(rest, -this.#keepTail);
    const dropped = this.#dropped + rest.length - tail.length;
    [this.#head, this.#tail, this.#tailLength, this.#dropped] = ['', [], 0, 0];
    if (dropped === 0) return head + tail;
    return `${head}\n[... ${dropped} characters of output left out ...]\n${tail}`;
  }

  #add(text: string): string {
    const head = this.#tail.length > 0 ? '' : cut(text, this.#keepHead - this.#head.length);
    this.#head += head;
    const tail = text.slice(head.length);
    if (tail !== '') this.#tail.push(tail);
    this.#tailLength += tail.length;
    while (
      this.#tail.length > 1 &&
      this.#tailLength - (this.#tail[0]?.length ?? 0) >= this.#keepTail
    ) {
      const length = this.#tail.shift()?.length ?? 0;
      this.#tailLength -= length;
      this.#dropped += length;
    }
    return head;
  }
}
