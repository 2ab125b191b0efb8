/** The process of a worker. Only processes that sandbox.ts starts run inside the isolation. */
import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { LineReader } from '../isolation/inside/lines.ts';
import type { WorkerCommand, WorkerConfig, WorkerNotice } from '../base/worker-protocol.ts';
import { Sandbox } from '../isolation/sandbox.ts';
import type { RunningWorker } from './server.ts';

declare const ACS_VERSION: string;

/** O_CLOEXEC on Linux, which files that a shell opened lack. */
const CLOSE_ON_EXEC = 0o2000000;

closeInheritedFiles();
let worker: Promise<RunningWorker> | null = null;
let queue: Promise<void> = Promise.resolve();
let isEnding = false;

/** Programs inside would inherit what a shell had opened for the service. Linux only. */
function closeInheritedFiles(): void {
  let descriptors: number[];
  try {
    descriptors = readdirSync('/proc/self/fdinfo').map(Number);
  } catch {
    return;
  }
  for (const descriptor of descriptors.filter((each) => each > 2)) {
    try {
      const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
      const [, flags = ''] = /^flags:\s+(\d+)$/m.exec(info) ?? [];
      if ((parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {}
  }
}

function notify(notice: WorkerNotice, written?: () => void): void {
  process.stdout.write(`${JSON.stringify(notice)}\n`, written);
}

async function start(config: WorkerConfig): Promise<RunningWorker> {
  const sandbox = new Sandbox(config);
  const [{ startWorker }, { workingDir }] = await Promise.all([
    import('./server.ts'),
    sandbox.folders(),
  ]);
  const started = await startWorker(config, notify, {
    sandbox,
    version: ACS_VERSION,
    nowMicroseconds: () => (performance.timeOrigin + performance.now()) * 1000,
    log: (line) => void process.stderr.write(`${line}\n`),
  });
  notify({ type: 'ready', port: started.port, working_dir: workingDir, spec: config.spec });
  return started;
}

async function execute({ type, request }: WorkerCommand): Promise<void> {
  const running = await worker;
  if (running === null || isEnding) return;
  isEnding = type === 'stop';
  notify({ type: await running.commands[type](), request }, () => {
    if (type === 'stop') process.exit(0);
  });
}

function end(code: number): void {
  if (isEnding) return;
  isEnding = true;
  void Promise.resolve(worker?.then((running) => running.commands.stop()))
    .catch(() => undefined)
    .finally(() => process.exit(code));
}

function fail(error: unknown): void {
  notify({ type: 'failed', text: (error as Error).message });
  end(1);
}

const reader = new LineReader((line) => {
  if (worker === null) {
    worker = start(JSON.parse(line) as WorkerConfig);
    worker.catch(fail);
  } else queue = queue.then(() => execute(JSON.parse(line) as WorkerCommand)).catch(fail);
});
process.stdin.on('data', (chunk: Buffer) => {
  reader.push(chunk);
});
for (const [stream, event, code] of [
  [process.stdin, 'end', 0],
  [process.stdin, 'error', 1],
  [process.stdout, 'error', 1],
] as const) {
  stream.on(event, () => end(code));
}
// The app server handles Ctrl-C at the terminal: it ends this process by closing its stdin.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', () => {
  end(0);
});
