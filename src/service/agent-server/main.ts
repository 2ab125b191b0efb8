/**
 * The process of a worker, started as `node dist/worker.js` by the app server; its messages are described in
 * worker-protocol.ts. It runs outside of the isolation: only processes that sandbox.ts starts run inside.
 */
import { LineReader } from '../isolation/inside/lines.ts';
import type { WorkerCommand, WorkerConfig, WorkerNotice } from '../sandboxes/worker-protocol.ts';
import { Sandbox } from './sandbox.ts';
import type { RunningWorker } from './server.ts';

declare const ACS_VERSION: string;

function notify(notice: WorkerNotice): void {
  process.stdout.write(`${JSON.stringify(notice)}\n`);
}

/** The app server writes these lines to the log of the service. */
function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

function nowMicroseconds(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}

async function start(config: WorkerConfig): Promise<RunningWorker> {
  // The isolation starts while the libraries of the server are loaded.
  const sandbox = new Sandbox(config);
  sandbox.ready().catch(() => undefined);
  const { startWorker } = await import('./server.ts');
  const worker = await startWorker({ config, sandbox, version: ACS_VERSION, nowMicroseconds, notify, log });
  notify({ type: 'ready', port: worker.port, working_dir: worker.workingDir, spec: config.spec });
  return worker;
}

/** Commands are executed one after the other; the end of stdin is handled last. */
class WorkerProcess {
  #worker: Promise<RunningWorker> | null = null;
  #queue: Promise<void> = Promise.resolve();
  #isEnding = false;

  readonly receive = (line: string): void => {
    if (this.#worker === null) {
      this.#worker = start(JSON.parse(line) as WorkerConfig);
      this.#worker.catch((error: unknown) => {
        notify({ type: 'failed', text: (error as Error).message });
        this.end(1);
      });
      return;
    }
    const command = JSON.parse(line) as WorkerCommand;
    this.#queue = this.#queue
      .then(() => this.#obey(command))
      .catch((error: unknown) => {
        notify({ type: 'failed', text: (error as Error).message });
        this.end(1);
      });
  };

  /** Ends every process inside, then this one. */
  readonly end = (code: number): void => {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const stopped = this.#worker?.then((worker) => worker.stop()) ?? Promise.resolve();
    void stopped
      .catch(() => undefined)
      .finally(() => {
        process.exit(code);
      });
  };

  async #obey(command: WorkerCommand): Promise<void> {
    const worker = await this.#worker;
    if (worker === null || this.#isEnding) return;
    const { request } = command;
    switch (command.type) {
      case 'pause':
        await worker.pause();
        notify({ type: 'paused', request });
        return;
      case 'resume':
        notify({ type: 'resumed', request, port: await worker.resume() });
        return;
      case 'stop':
        this.#isEnding = true;
        await worker.stop();
        process.stdout.write(`${JSON.stringify({ type: 'stopped', request })}\n`, () => {
          process.exit(0);
        });
        return;
    }
  }
}

const worker = new WorkerProcess();
const reader = new LineReader(worker.receive);
process.stdin.on('data', (chunk: Buffer) => {
  reader.push(chunk);
});
process.stdin.on('end', () => {
  worker.end(0);
});
process.stdin.on('error', () => {
  worker.end(1);
});
process.stdout.on('error', () => {
  worker.end(1);
});
// The app server handles Ctrl-C at the terminal: it ends this process by closing its stdin.
process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', () => {
  worker.end(0);
});
