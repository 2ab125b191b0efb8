/**
 * The bash routes (interface 7.5) have no signals: the program runs in its own session with its
 * output in files.
 */
import type { Program, ProgramStreams } from '../../domain/program.ts';
import { AppError } from '../../base/errors.ts';
import { readBashOutput, type BashOutput } from '../../protocol/agent-server/records.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import { read, type Links } from '../shared/links.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import type { Transport } from '../http/transport.ts';
import { cut } from '../../base/text/well-formed.ts';

const NO_TOOLS = 44;
const NO_FOLDER = 45;

/** Of each stream in one answer: less than 1 MiB in base64, which servers cut. */
const MOST_BYTES = 256 * 1024;
/** Tenths of a second until an answer without news. */
const PATIENCE = 50;
/** More than the patience of a command that only looks. */
const COMMAND_SECONDS = 60;
/**
 * A server that was started in the background of a shell ignores SIGINT, and so does all that it
 * starts.
 */
const DEFAULT_SIGNALS = 'env --default-signal=HUP,INT,QUIT,TERM';

export interface BashExec {
  program: Program;
  streams: ProgramStreams;
  /** For a program without a directory of its own, if it exists. */
  workingDir: string | null;
}

export async function execOverBash(
  links: Links,
  transport: Transport,
  exec: BashExec,
): Promise<number> {
  const folder = `/tmp/acs-exec-${links.randomId()}`;
  const { program, streams } = exec;
  const run = async (command: string, safe: 'once' | 'idempotent'): Promise<BashOutput> => {
    const body = { command, timeout: COMMAND_SECONDS };
    const call = { method: 'POST', path: '/api/bash/execute_bash_command', body, safe } as const;
    return read(await transport.request({ ...call, timeoutMs: COMMAND_SECONDS * 1000 }), (given) =>
      readBashOutput(given),
    );
  };
  const failed = (what: string, { exit_code, stderr, stdout }: BashOutput): AppError => {
    const reason = cut(stderr.trim() || stdout.trim(), 500);
    const message = `the sandbox did not ${what} (${exit_code ?? 'no'} exit code)`;
    return new AppError('server', reason === '' ? message : `${message}: ${reason}`);
  };
  const started = await run(startScript(folder, exec), 'once');
  if (started.exit_code === NO_FOLDER) {
    throw new AppError(
      'not-found',
      `there is no directory ${cut(program.cwd ?? '', 200)} in the sandbox`,
      {
        hint: 'see what there is: acs sandbox exec <id> -- ls -la',
      },
    );
  }
  if (started.exit_code === NO_TOOLS)
    throw new AppError(
      'unsupported',
      'the sandbox lacks a program that exec needs: setsid or base64',
    );
  if (started.exit_code !== 0) throw failed('start the program', started);
  let control: Promise<unknown> = Promise.resolve();
  let isKilled = false;
  // What an interrupted program has left, and one whose output cannot be read, is ended with its
  // session.
  let endsSession = true;
  let isInterrupted = false;
  streams.onControl((each) => {
    isKilled ||= each.type === 'kill';
    isInterrupted = true;
    const names = { kill: 'KILL', resize: 'WINCH' };
    const name = each.type === 'signal' ? each.signal.slice(3) : names[each.type];
    control = control.then(() => run(signalScript(folder, name), 'idempotent'));
    control.catch(() => undefined);
  });
  const position = { stdout: 0, stderr: 0 };
  try {
    for (;;) {
      const answer = await readThroughOutage(links, () =>
        run(readScript(folder, position), 'idempotent'),
      );
      const match = NEWS.exec(answer.stdout);
      if (match === null) throw failed('return the output of the program', answer);
      const [, exitCode, stdoutSize, stderrSize, ...encoded] = match;
      for (const [index, name] of (['stdout', 'stderr'] as const).entries()) {
        const bytes = Buffer.from(encoded[index] ?? '', 'base64');
        if (bytes.length > 0) await streams.output(name, bytes);
        position[name] += bytes.length;
      }
      const isRead = position.stdout >= Number(stdoutSize) && position.stderr >= Number(stderrSize);
      if (exitCode === '' || !(isRead || isKilled)) continue;
      await control;
      endsSession = isInterrupted;
      return Number(exitCode);
    }
  } finally {
    const end = endsSession ? `kill -s KILL -- "-$(cat ${folder}/pid)" 2>/dev/null; ` : '';
    await run(`${end}rm -rf ${folder}`, 'idempotent').catch(() => undefined);
  }
}

/**
 * The exit code (empty while it runs), the sizes of the whole output so far, and what is new of it.
 */
const NEWS = /ACS-EXEC (\d*) (\d+) (\d+)\n([A-Za-z0-9+/=\s]*)ACS-ERR\n([A-Za-z0-9+/=\s]*)ACS-END/;

/** `setsid -f`, not `&`: a shell lets what it starts in the background ignore SIGINT. */
function startScript(folder: string, { program, workingDir }: BashExec): string {
  const variables = Object.entries(program.env).map(
    ([name, value]) => ` && export ${name}=${shellQuote(value)}`,
  );
  const start = workingDir === null ? '' : `cd ${shellQuote(workingDir)} 2>/dev/null\n`;
  const change =
    program.cwd === null
      ? ''
      : `cd -- ${shellQuote(program.cwd)} 2>/dev/null || exit ${NO_FOLDER}\n`;
  const run = [
    `echo $$ >"$0/pid.new" && mv "$0/pid.new" "$0/pid"${variables.join('')} || exit 1`,
    // A word with "=" would be a variable for env.
    `case $1 in *=*) ;; *) ${DEFAULT_SIGNALS} true 2>/dev/null && set -- ${DEFAULT_SIGNALS} ` +
      '-- "$@" ;; esac',
    'exec "$@"',
  ].join('\n');
  const supervise = [
    'd=$0',
    `setsid -w sh -c ${shellQuote(run)} "$d" "$@" >>"$d/out" 2>>"$d/err" </dev/null`,
    'echo $? >"$d/code.new"; mv "$d/code.new" "$d/code"',
  ].join('\n');
  return `command -v setsid >/dev/null && command -v base64 >/dev/null || exit ${NO_TOOLS}
${start}${change}(umask 077; mkdir ${folder} && : >${folder}/out && : >${folder}/err) || exit 1
setsid -f sh -c ${shellQuote(supervise)} ${folder} ${(program.argv ?? []).map(shellQuote).join(' ')} >/dev/null 2>&1 </dev/null
`;
}

/** The exit code is read before the sizes: once it is there, the output is complete. */
function readScript(
  folder: string,
  { stdout, stderr }: { stdout: number; stderr: number },
): string {
  const part = (name: string, from: number): string =>
    `tail -c +${from + 1} ${folder}/${name} | head -c ${MOST_BYTES} | base64`;
  return `cd ${folder} || exit 1
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
function signalScript(folder: string, name: string): string {
  return `cd ${folder} || exit 0
n=0; while [ ! -s pid ] && [ ! -s code ] && [ $n -lt 20 ]; do sleep 0.1; n=$((n+1)); done
kill -s ${name} -- "-$(cat pid)" 2>/dev/null || exit 0
`;
}
