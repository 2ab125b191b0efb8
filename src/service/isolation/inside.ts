/** The helper inside the isolation: the worker itself never follows a link that an agent made. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HOME_INSIDE } from './bubblewrap.ts';
import { listFolder, OperationError, readChunk, writeChunk } from './inside/files.ts';
import { LineReader } from './inside/lines.ts';
import { Programs } from './inside/programs.ts';
import { killProcesses, SANDBOX_MARKER } from './processes.ts';
import { type Answer, LONGEST_LINE, type Request } from './protocol.ts';

const workingDir = process.cwd();
/** The folder for files of the worker, where no mount ends with the helper. */
const scratch = process.argv[2];
const mark = process.env[SANDBOX_MARKER] ?? '';
// Not even `kill` could be started at the limit of processes.
const programs = new Programs(workingDir, () => {
  process.stderr.write('it reached its limit of processes\n');
  endEverything();
});

function send(answer: Answer): boolean {
  const line = JSON.stringify(answer);
  // The worker ends a helper that sends a longer line; only this answer must fail.
  if (Buffer.byteLength(line) > LONGEST_LINE) {
    return send({
      type: 'failure',
      id: answer.id,
      failure: { code: 'invalid', message: 'The answer is too large' },
    });
  }
  return process.stdout.write(`${line}\n`);
}

async function perform(request: Request): Promise<unknown> {
  switch (request.op) {
    case 'run':
      return programs.run(request.id, request, (stream, data) =>
        send({ type: 'output', id: request.id, stream, data }),
      );
    case 'signal':
      programs.signal(request.run, request.signal);
      return {};
    case 'read':
      if (!('run' in request))
        return readChunk({ ...request, path: path.resolve(workingDir, request.path) });
      programs.grant(request.run, request.bytes);
      return {};
    case 'write':
      if ('run' in request) await programs.write(request);
      else await writeChunk({ ...request, path: path.resolve(workingDir, request.path) });
      return {};
    case 'list':
      return { entries: await listFolder(path.resolve(workingDir, request.path)) };
  }
}

async function answer(request: Request): Promise<void> {
  try {
    send({ type: 'result', id: request.id, result: await perform(request) });
  } catch (error) {
    const code = error instanceof OperationError ? error.code : 'failed';
    send({ type: 'failure', id: request.id, failure: { code, message: (error as Error).message } });
  }
}

function endEverything(): void {
  const marked = mark === '' ? null : `${SANDBOX_MARKER}=${mark}`;
  killProcesses({ below: process.pid, marked, except: [process.pid] });
  if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
  process.exit(0);
}

const reader = new LineReader((line) => void answer(JSON.parse(line) as Request));
process.stdin.on('data', (chunk: Buffer) => {
  reader.push(chunk);
});
process.stdin.on('end', endEverything);
process.stdin.on('error', endEverything);
process.stdout.on('error', endEverything);
// A command that ends programs by name, such as `pkill node`, must not end the helper.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);
process.title = 'acs-sandbox';

// git needs a name, and refuses a workspace with a mapped owner.
const gitSettings = path.join(HOME_INSIDE, '.gitconfig');
if (process.env['HOME'] === HOME_INSIDE && !existsSync(gitSettings)) {
  writeFileSync(
    gitSettings,
    '[user]\n\tname = agent\n\temail = agent@localhost\n[safe]\n\tdirectory = *\n',
  );
}
send({ type: 'result', id: 0, result: { workingDir } });
