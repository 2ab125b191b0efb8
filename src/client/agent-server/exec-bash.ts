/** The bash routes (interface 7.5) have no signals: the program has its own session and files. */
import type { Program, ProgramControl, ProgramStreams } from '../../domain/program.ts';
import { AppError } from '../../base/errors.ts';
import { readThroughOutage } from '../../runs/poll.ts';
import type { Links } from '../shared/links.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import type { Transport } from '../http/transport.ts';
import { cut } from '../../base/text/well-formed.ts';
import { runShortCommand, type CommandResult } from './shell-command.ts';

const NO_TOOLS = 44;
const NO_FOLDER = 45;

const MOST_BYTES = 256 * 1024;
/** Tenths of a second until an answer without output. */
const PATIENCE = 50;
const COMMAND_SECONDS = 60;
/** A server that a shell started in the background ignores SIGINT, and so would the program. */
const DEFAULT_SIGNALS = 'env --default-signal=HUP,INT,QUIT,TERM';

export interface BashExec {
  program: Program;
  streams: ProgramStreams;
  workingDir: string | null;
}

type Run = (command: string, safe?: 'once' | 'idempotent') => Promise<CommandResult>;

export async function execOverBash(
  links: Links,
  transport: Pick<Transport, 'request'>,
  exec: BashExec,
): Promise<number> {
  const folder = `/tmp/acs-exec-${links.randomId()}`;
  const run: Run = (command, safe = 'idempotent') =>
    runShortCommand(transport, { command, timeoutSeconds: COMMAND_SECONDS, safe });
  checkStarted(await run(startScript(folder, exec), 'once'), exec.program);
  const { streams } = exec;
  let control: Promise<unknown> = Promise.resolve();
  const controls = new Set<ProgramControl['type']>();
  streams.onControl((each) => {
    controls.add(each.type);
    const names = { kill: 'KILL', resize: 'WINCH' };
    const name = each.type === 'signal' ? each.signal.slice(3) : names[each.type];
    control = control.then(() => run(signalScript(folder, name)));
    control.catch(() => undefined);
  });
  const position = { stdout: 0, stderr: 0 };
  let exitCode: number | null = null;
  try {
    while (exitCode === null) {
      const news = await readThroughOutage(links, () => readNews(run, folder, position));
      await pass(news, position, streams);
      if (news.isComplete(position) || controls.has('kill')) exitCode = news.exitCode;
    }
    await control;
    return exitCode;
  } finally {
    // What an interrupted program has left, and one that cannot be read, ends with its session.
    const isLeft = exitCode === null || controls.size > 0;
    const end = isLeft ? `kill -s KILL -- "-$(cat ${folder}/pid)" 2>/dev/null; ` : '';
    await run(`${end}rm -rf ${folder}`).catch(() => undefined);
  }
}

function checkStarted(started: CommandResult, { cwd }: Program): void {
  if (started.exitCode === NO_FOLDER)
    throw new AppError('not-found', `there is no directory ${cut(cwd ?? '', 200)} in the sandbox`, {
      hint: 'see what there is: acs sandbox exec <id> -- ls -la',
    });
  if (started.exitCode === NO_TOOLS)
    throw new AppError(
      'unsupported',
      'the sandbox lacks a program that exec needs: setsid or base64',
    );
  if (started.exitCode !== 0) throw commandError('start the program', started);
}

function commandError(what: string, { exitCode, stderr, stdout }: CommandResult): AppError {
  const reason = cut(stderr.trim() || stdout.trim(), 500);
  const message = `the sandbox did not ${what} (${exitCode === -1 ? 'no' : exitCode} exit code)`;
  return new AppError('server', reason === '' ? message : `${message}: ${reason}`);
}

/** The exit code (empty while it runs), the sizes of the whole output, and what is new of it. */
const NEWS = /ACS-EXEC (\d*) (\d+) (\d+)\n([A-Za-z0-9+/=\s]*)ACS-ERR\n([A-Za-z0-9+/=\s]*)ACS-END/;

interface Position {
  stdout: number;
  stderr: number;
}

async function readNews(run: Run, folder: string, position: Position) {
  const answer = await run(readScript(folder, position));
  const match = NEWS.exec(answer.stdout);
  if (match === null) throw commandError('return the output of the program', answer);
  const [, exitCode, stdoutSize, stderrSize, stdout = '', stderr = ''] = match;
  return {
    exitCode: exitCode === '' ? null : Number(exitCode),
    stdout: Buffer.from(stdout, 'base64'),
    stderr: Buffer.from(stderr, 'base64'),
    isComplete: (at: Position) =>
      at.stdout >= Number(stdoutSize) && at.stderr >= Number(stderrSize),
  };
}

async function pass(
  news: Record<keyof Position, Uint8Array>,
  position: Position,
  streams: ProgramStreams,
): Promise<void> {
  for (const name of ['stdout', 'stderr'] as const) {
    if (news[name].length > 0) await streams.output(name, news[name]);
    position[name] += news[name].length;
  }
}

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
  const words = (program.argv ?? []).map(shellQuote).join(' ');
  return `command -v setsid >/dev/null && command -v base64 >/dev/null || exit ${NO_TOOLS}
${start}${change}(umask 077; mkdir ${folder} && : >${folder}/out && : >${folder}/err) || exit 1
setsid -f sh -c ${shellQuote(supervise)} ${folder} ${words} >/dev/null 2>&1 </dev/null
`;
}

/** The exit code is read before the sizes: once it is there, the output is complete. */
function readScript(folder: string, { stdout, stderr }: Position): string {
  const part = (name: string, from: number) =>
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
