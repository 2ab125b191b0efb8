/**
 * The jail as the worker's parts use it: started when first needed, started anew when something inside ended it, and
 * closed for questions while the sandbox is paused.
 */
import path from 'node:path';
import { JailError } from '../jail/connection.ts';
import { type StartedJail, startJail } from '../jail/jail.ts';
import type { Operation, Operations, RunParameters, RunResult } from '../jail/protocol.ts';
import type { WorkerConfig } from '../worker-protocol.ts';

/** Where recorded trajectories of genuine servers have their workspace. */
const RECORDED_ROOTS = ['/workspace/project', '/workspace'];

/** So long a helper that does not answer may hold up a pause. */
const HOLD_MS = 1000;

export interface RunOptions {
  signal?: AbortSignal;
  onOutput?: (stream: 'stdout' | 'stderr', text: string) => void;
}

export class Sandbox {
  readonly #config: WorkerConfig;
  #jail: Promise<StartedJail>;
  #live: StartedJail | null = null;
  #closed = false;
  #gate: Gate | null = null;

  /** Starts the jail at once. */
  constructor(config: WorkerConfig) {
    this.#config = config;
    this.#jail = this.#start();
  }

  /** Where the workspace is inside. Rejects when the jail cannot be started. */
  async ready(): Promise<string> {
    return (await this.#jail).workingDir;
  }

  async ask<K extends Operation>(op: K, parameters: Operations[K]['takes']): Promise<Operations[K]['gives']> {
    return (await this.#connected()).connection.ask(op, parameters).answer;
  }

  /** Runs a command; the signal ends it with everything it started. */
  async run(parameters: RunParameters, options: RunOptions = {}): Promise<RunResult> {
    const { connection } = await this.#connected();
    const { id, answer } = connection.ask('run', parameters, options.onOutput);
    const kill = (): void => {
      connection.ask('kill', { run: id }).answer.catch(() => undefined);
    };
    if (options.signal?.aborted) kill();
    options.signal?.addEventListener('abort', kill, { once: true });
    try {
      return await answer;
    } finally {
      options.signal?.removeEventListener('abort', kill);
    }
  }

  /** A path of a recorded trajectory, in this workspace: what lay in the recorded one lies in the working directory. */
  rebase(recorded: string, workingDir: string): string {
    if (!path.isAbsolute(recorded) || isWithin(recorded, workingDir)) return recorded;
    const root = RECORDED_ROOTS.find((folder) => isWithin(recorded, folder));
    if (root === undefined) return recorded;
    const rest = path.relative(root, recorded);
    const name = path.basename(workingDir);
    return path.join(workingDir, rest === name || rest.startsWith(`${name}/`) ? rest.slice(name.length) : rest);
  }

  /**
   * Stops every process inside. The helper is told first: what was asked of it before is started by then and stopped
   * with the rest, and what is asked later waits here.
   */
  async freeze(): Promise<void> {
    this.#gate ??= new Gate();
    await Promise.race([this.#hold(true), new Promise((resolve) => setTimeout(resolve, HOLD_MS).unref())]);
    this.#live?.freezer.freeze();
  }

  thaw(): void {
    this.#live?.freezer.thaw();
    void this.#hold(false);
    this.#gate?.release();
    this.#gate = null;
  }

  /** Ends every process inside, for good. */
  async close(): Promise<void> {
    this.#closed = true;
    const jail = this.#live ?? (await this.#jail.catch(() => null));
    await jail?.end();
  }

  async #hold(held: boolean): Promise<void> {
    await this.#live?.connection.ask('hold', { held }).answer.catch(() => undefined);
  }

  async #connected(): Promise<StartedJail> {
    await this.#gate?.passed;
    let jail = await this.#jail;
    if (jail.connection.gone !== null && !this.#closed) {
      // Several may find it gone at once; the first starts the new one.
      if (this.#live === jail) this.#jail = this.#restart(jail);
      jail = await this.#jail;
    }
    if (this.#closed) throw new JailError('gone', 'the sandbox is closed');
    return jail;
  }

  /** In place of one that is gone. A failure is told, and the next question tries again. */
  async #restart(before: StartedJail): Promise<StartedJail> {
    this.#live = null;
    try {
      return await this.#start();
    } catch (error) {
      this.#live = before;
      this.#jail = Promise.resolve(before);
      throw new JailError('gone', (error as Error).message);
    }
  }

  async #start(): Promise<StartedJail> {
    const jail = await startJail(this.#config);
    this.#live = jail;
    return jail;
  }
}

function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(`${folder.replace(/\/$/, '')}/`);
}

/** Shut while the sandbox is paused. */
class Gate {
  readonly passed: Promise<void>;
  release: () => void = () => undefined;

  constructor() {
    this.passed = new Promise((resolve) => (this.release = resolve));
  }
}
