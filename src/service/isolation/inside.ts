/**
 * What runs inside the isolation of a sandbox, joined to the worker by stdio: it runs commands, reads and writes files
 * and runs git, so that the worker itself never follows a link or reads a repository that an agent made. When its stdin
 * ends the worker is gone: it ends everything it started and exits.
 */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { HOME_INSIDE } from './bubblewrap.ts';
import { editFile, EditHistory } from './inside/editor.ts';
import { DownloadReader, UploadWriter } from './inside/files.ts';
import { OperationError } from './inside/failure.ts';
import { gitChanges, gitDelta, gitDiff } from './inside/git.ts';
import { LineReader } from './inside/lines.ts';
import { Programs } from './inside/programs.ts';
import { Scratch } from './inside/scratch.ts';
import { Shell } from './inside/shell.ts';
import { killProcesses, SANDBOX_MARKER } from './processes.ts';
import { type Answer, LONGEST_LINE, type Request } from './protocol.ts';

const workingDir = process.cwd();
const scratch = new Scratch(process.env[SANDBOX_MARKER] ?? '');
const shell = new Shell(workingDir, scratch);
const programs = new Programs(workingDir, scratch);
const history = new EditHistory();
const downloads = new DownloadReader(workingDir);
const uploads = new UploadWriter(workingDir);

function send(answer: Answer): boolean {
  const line = JSON.stringify(answer);
  // The worker ends a helper that sends a longer line; only this answer must fail.
  if ('id' in answer && Buffer.byteLength(line) > LONGEST_LINE) {
    const failure = { code: 'too-large', message: 'The answer is too large' };
    return process.stdout.write(`${JSON.stringify({ type: 'failure', id: answer.id, failure })}\n`);
  }
  return process.stdout.write(`${line}\n`);
}

async function perform(request: Request): Promise<unknown> {
  switch (request.op) {
    case 'run':
      return shell.run(request.id, request, (stream, text) => send({ type: 'output', id: request.id, stream, text }));
    case 'kill':
      shell.kill(request.run);
      programs.kill(request.run);
      return {};
    case 'exec':
      return programs.run(request.id, request, (stream, text) =>
        send({ type: 'output', id: request.id, stream, text }),
      );
    case 'exec_write':
      await programs.write(request);
      return {};
    case 'exec_more':
      programs.more(request);
      return {};
    case 'exec_signal':
      programs.signal(request.run, request.signal);
      return {};
    case 'exec_resize':
      programs.resize(request.run, request.size);
      return {};
    case 'ping':
      return {};
    case 'edit':
      return editFile(request, history);
    case 'read':
      return downloads.read(request);
    case 'write':
      await uploads.write(request);
      return {};
    case 'home':
      return { home: process.env['HOME'] ?? '/' };
    case 'git_changes':
      return { changes: await gitChanges(workingDir, request.path, request.ref) };
    case 'git_diff':
      return gitDiff(workingDir, request.path, request.ref);
    case 'git_delta':
      return { patch: await gitDelta(workingDir, request.path, request.ref) };
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
  const sandbox = process.env[SANDBOX_MARKER];
  killProcesses({
    below: process.pid,
    marked: sandbox === undefined ? null : `${SANDBOX_MARKER}=${sandbox}`,
    except: [process.pid],
  });
  scratch.remove();
  process.exit(0);
}

/**
 * Inside bubblewrap the home is new and empty: git needs a name to commit, and must not refuse a workspace whose owner
 * is mapped to another user. The home of a person is not changed.
 */
function prepareHome(home: string | undefined): void {
  if (home !== HOME_INSIDE) return;
  const file = path.join(home, '.gitconfig');
  if (existsSync(file)) return;
  writeFileSync(file, '[user]\n\tname = agent\n\temail = agent@localhost\n[safe]\n\tdirectory = *\n');
}

const reader = new LineReader((line) => void answer(JSON.parse(line) as Request));
process.stdin.on('data', (chunk: Buffer) => {
  reader.push(chunk);
});
process.stdin.on('end', endEverything);
process.stdin.on('error', endEverything);
process.stdout.on('error', endEverything);
// The service handles Ctrl-C at its terminal.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', endEverything);
process.on('SIGHUP', endEverything);
prepareHome(process.env['HOME']);
send({ type: 'hello', workingDir });
