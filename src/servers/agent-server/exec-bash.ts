/**
 * Runs a program over the bash routes of an agent server (interface 7.5). A server publishes the output of a command in
 * parts of 1 MiB, or at its end, and has no route for signals. So one command starts the program in a session of its own
 * with its output in files, and each following command returns what is new in them, in base64.
 *
 * What is left behind by a client that went away is ended by a third process after ABANDONED_MINUTES.
 */
import type { Program, ProgramControl, ProgramStreams } from '../../domain/program.ts';
import { AppError } from '../../errors.ts';
import { readBashOutput, type BashOutput } from '../../protocol/agent-server/records.ts';
import { read, type Links } from '../links.ts';
import { shellQuote } from '../../text/shell-quote.ts';
import type { Transport } from '../transport/transport.ts';
import type { AgentAddress } from './exec-socket.ts';

/** Exit codes of the scripts; others are those of their programs. */
const NO_TOOLS = 44;
const NO_FOLDER = 45;

/** Of each stream in one answer: less than 1 MiB in base64, which servers cut. */
const MOST_BYTES = 256 * 1024;
/** An answer without news comes after this many tenths of a second. */
const PATIENCE = 50;
/** Of a command that only looks: more than its patience. */
const COMMAND_SECONDS = 60;
const ABANDONED_MINUTES = 10;
/** A server that was started in the background of a shell ignores SIGINT, and so does all that it starts. */
const DEFAULT_SIGNALS = 'env --default-signal=HUP,INT,QUIT,TERM';

export interface BashExec {
  program: Program;
  streams: ProgramStreams;
  /** Where the program runs without a directory of its own, if that exists. */
  workingDir: string | null;
}

export async function execOverBash(links: Links, address: AgentAddress, exec: BashExec): Promise<number> {
  const transport = links.agent(address.baseUrl, address.key);
  const folder = `/tmp/acs-exec-${links.randomId()}`;
  const { program, streams } = exec;
  const started = await runScript(transport, startScript(folder, exec), 'once');
  if (started.exit_code === NO_FOLDER) throw noFolder(program.cwd ?? '');
  if (started.exit_code === NO_TOOLS) {
    throw new AppError('unsupported', 'the sandbox lacks a program that exec needs: setsid or base64');
  }
  if (started.exit_code !== 0) throw failed('start the program', started);
  let control: Promise<unknown> = Promise.resolve();
  let isKilled = false;
  let isInterrupted = false;
  // What an interrupted program has left, and one whose output cannot be read, is ended with its session.
  let isAbandoned = true;
  streams.onControl((each) => {
    isKilled ||= each.type === 'kill';
    isInterrupted = true;
    control = control.then(() => runScript(transport, controlScript(folder, each), 'idempotent'));
    control.catch(() => undefined);
  });
  try {
    const exitCode = await follow(transport, folder, streams, () => isKilled);
    await control;
    isAbandoned = isInterrupted;
    return exitCode;
  } finally {
    const end = isAbandoned ? `kill -s KILL -- "-$(cat ${folder}/pid)" 2>/dev/null; ` : '';
    await runScript(transport, `${end}rm -rf ${folder}`, 'idempotent').catch(() => undefined);
  }
}

/** Prints what is new until the program has ended, and all of it when it ended by itself. */
async function follow(
  transport: Transport,
  folder: string,
  streams: ProgramStreams,
  isKilled: () => boolean,
): Promise<number> {
  const position = { stdout: 0, stderr: 0 };
  for (;;) {
    const answer = await runScript(transport, readScript(folder, position), 'idempotent');
    const news = readNews(answer);
    for (const name of ['stdout', 'stderr'] as const) {
      if (news[name].length > 0) await streams.output(name, news[name]);
      position[name] += news[name].length;
    }
    const isRead = position.stdout >= news.sizes.stdout && position.stderr >= news.sizes.stderr;
    if (news.exitCode !== null && (isRead || isKilled())) return news.exitCode;
  }
}

interface News {
  /** Null while it runs. */
  exitCode: number | null;
  /** Of the whole output so far. */
  sizes: { stdout: number; stderr: number };
  stdout: Uint8Array;
  stderr: Uint8Array;
}

function readNews(answer: BashOutput): News {
  const match = /ACS-EXEC (\d*) (\d+) (\d+)\n([A-Za-z0-9+/=\s]*)ACS-ERR\n([A-Za-z0-9+/=\s]*)ACS-END/.exec(
    answer.stdout,
  );
  if (match === null) throw failed('return the output of the program', answer);
  const [, code = '', out = '', err = '', stdout = '', stderr = ''] = match;
  return {
    exitCode: code === '' ? null : Number(code),
    sizes: { stdout: Number(out), stderr: Number(err) },
    stdout: Buffer.from(stdout, 'base64'),
    stderr: Buffer.from(stderr, 'base64'),
  };
}

async function runScript(transport: Transport, command: string, safe: 'once' | 'idempotent'): Promise<BashOutput> {
  const answer = await transport.request({
    method: 'POST',
    path: '/api/bash/execute_bash_command',
    body: { command, timeout: COMMAND_SECONDS },
    safe,
    timeoutMs: COMMAND_SECONDS * 1000,
  });
  return read(answer, (body) => readBashOutput(body));
}

function failed(what: string, { exit_code, stderr, stdout }: BashOutput): AppError {
  const reason = (stderr.trim() || stdout.trim()).slice(0, 500);
  return new AppError(
    'server',
    `the sandbox did not ${what} (${exit_code ?? 'no'} exit code)${reason && `: ${reason}`}`,
  );
}

function noFolder(cwd: string): AppError {
  return new AppError('not-found', `there is no directory ${cwd.slice(0, 200)} in the sandbox`, {
    hint: 'see what there is: acs sandbox exec <id> -- ls -la',
  });
}

/**
 * A session of its own is a process group that signals reach, and outlives the command of the server. `setsid -f`, not
 * `&`: a shell lets what it starts in the background ignore SIGINT.
 */
function startScript(folder: string, { program, workingDir }: BashExec): string {
  const variables = Object.entries(program.env).map(([name, value]) => ` && export ${name}=${shellQuote(value)}`);
  const start = workingDir === null ? '' : `cd ${shellQuote(workingDir)} 2>/dev/null\n`;
  const change = program.cwd === null ? '' : `cd -- ${shellQuote(program.cwd)} 2>/dev/null || exit ${NO_FOLDER}\n`;
  const run = [
    `echo $$ >"$0/pid.new" && mv "$0/pid.new" "$0/pid"${variables.join('')} || exit 1`,
    // A word with "=" would be a variable for env.
    `case $1 in *=*) ;; *) ${DEFAULT_SIGNALS} true 2>/dev/null && set -- ${DEFAULT_SIGNALS} -- "$@" ;; esac`,
    'exec "$@"',
  ].join('\n');
  const supervise = [
    'd=$0',
    `setsid -w sh -c ${shellQuote(run)} "$d" "$@" >>"$d/out" 2>>"$d/err" </dev/null`,
    'echo $? >"$d/code.new"; mv "$d/code.new" "$d/code"',
  ].join('\n');
  const clean = [
    'while [ -d "$0" ]; do sleep 20',
    `  [ -z "$(find "$0/alive" -mmin +${ABANDONED_MINUTES} 2>/dev/null)" ] && continue`,
    '  kill -s KILL -- "-$(cat "$0/pid")" 2>/dev/null; rm -rf "$0"',
    'done',
  ].join('\n');
  return `command -v setsid >/dev/null && command -v base64 >/dev/null || exit ${NO_TOOLS}
${start}${change}(umask 077; mkdir ${folder} && : >${folder}/out && : >${folder}/err && : >${folder}/alive) || exit 1
setsid -f sh -c ${shellQuote(supervise)} ${folder} ${(program.argv ?? []).map(shellQuote).join(' ')} >/dev/null 2>&1 </dev/null
setsid -f sh -c ${shellQuote(clean)} ${folder} >/dev/null 2>&1 </dev/null
`;
}

/** The exit code is read before the sizes: once it is there, the output is complete. */
function readScript(folder: string, { stdout, stderr }: { stdout: number; stderr: number }): string {
  const part = (name: string, from: number): string =>
    `tail -c +${from + 1} ${folder}/${name} | head -c ${MOST_BYTES} | base64`;
  return `cd ${folder} || exit 1
touch alive
sleep 0.1; n=1
while :; do
  code=$(cat code 2>/dev/null); o=$(($(wc -c <out))); e=$(($(wc -c <err)))
  [ -n "$code" ] || [ $o -gt ${stdout} ] || [ $e -gt ${stderr} ] || [ $n -ge ${PATIENCE} ] && break
  sleep 0.1; n=$((n+1))
done
echo "ACS-EXEC $code $o $e"
${part('out', stdout)}
echo ACS-ERR
${part('err', stderr)}
echo ACS-END
`;
}

/** Waits for the pid, because a signal may be sent right after the start. */
function controlScript(folder: string, control: ProgramControl): string {
  const name = control.type === 'signal' ? control.signal.slice(3) : control.type === 'kill' ? 'KILL' : 'WINCH';
  return `cd ${folder} || exit 0
n=0; while [ ! -s pid ] && [ ! -s code ] && [ $n -lt 20 ]; do sleep 0.1; n=$((n+1)); done
kill -s ${name} -- "-$(cat pid)" 2>/dev/null || exit 0
`;
}
