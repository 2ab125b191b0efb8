/**
 * A program that a client runs over `/sockets/exec` (the frames: src/protocol/agent-server/exec.ts). It ends with the
 * socket: when the client goes away, or the sandbox is paused or stopped.
 */
import type { RawData, WebSocket } from 'ws';
import {
  EXEC_WINDOW,
  execControl,
  execStart,
  type ExecControl,
  type ExecStart,
} from '../../protocol/agent-server/exec.ts';
import { check } from '../../protocol/detail.ts';
import { IsolationError } from '../isolation/connection.ts';
import { parseFrame } from './event-feed.ts';
import type { RunningProgram, Sandbox } from './sandbox.ts';

const STREAM_BYTES = { stdout: 1, stderr: 2 } as const;

/** Of one frame to the helper, which answers when the program has taken it. */
const PIECE = 64 * 1024;

export class ProgramSession {
  readonly #client: WebSocket;
  readonly #sandbox: Sandbox;
  #program: Promise<RunningProgram> | null = null;
  /** Frames of the client are carried out in their order; each write waits for the program. */
  #stdin: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(client: WebSocket, sandbox: Sandbox) {
    this.#client = client;
    this.#sandbox = sandbox;
  }

  start(): void {
    this.#client.on('message', (data: RawData, isBinary: boolean) => {
      if (isBinary) this.#write(data as Buffer);
      else this.#obey(parseFrame(data));
    });
    this.#client.once('close', () => {
      this.#tell('kill', {});
    });
  }

  #obey(frame: unknown): void {
    if (this.#program === null) {
      const start = check(execStart, frame, 'body');
      if (start.ok) this.#run(start.value);
      else this.#refuse();
      return;
    }
    const control = check(execControl, frame, 'body');
    if (control.ok) this.#control(control.value);
    else this.#refuse();
  }

  #control(control: ExecControl): void {
    switch (control.type) {
      case 'end':
        this.#send('', true);
        return;
      case 'kill':
        this.#tell('kill', {});
        return;
      case 'taken':
        void this.#program?.then(
          ({ connection, run }) => {
            connection.allow(run, control.bytes);
          },
          () => undefined,
        );
        return;
      case 'signal':
        this.#tell('exec_signal', { signal: control.signal });
        return;
      case 'resize':
        this.#tell('exec_resize', { size: control.size });
        return;
    }
  }

  #run({ argv, cwd, env, stdin, terminal }: ExecStart): void {
    const parameters = { argv, cwd, env, stdin: stdin ? 'stream' : 'none', terminal, window: EXEC_WINDOW } as const;
    this.#program = this.#sandbox.exec(parameters, (stream, data) => {
      const bytes = Buffer.from(data, 'base64');
      this.#client.send(Buffer.concat([Buffer.of(STREAM_BYTES[stream]), bytes]));
    });
    this.#program
      .then(async ({ ended }) => {
        this.#answer({ type: 'started' });
        this.#conclude({ type: 'exit', exit_code: (await ended).exitCode });
      })
      .catch((error: unknown) => {
        const code = error instanceof IsolationError ? error.code : 'failed';
        this.#conclude({ type: 'failed', code, message: (error as Error).message });
      });
  }

  /** Passes stdin on in the order of its frames. */
  #write(data: Buffer): void {
    this.#waiting += data.length;
    if (this.#program === null || this.#waiting > EXEC_WINDOW + PIECE) {
      this.#refuse();
      return;
    }
    for (let offset = 0; offset < data.length; offset += PIECE) {
      this.#send(data.subarray(offset, offset + PIECE).toString('base64'), false);
    }
  }

  #send(data: string, last: boolean): void {
    const bytes = Buffer.byteLength(data, 'base64');
    this.#stdin = this.#stdin
      .then(async () => {
        const program = await this.#program;
        if (program === null) return;
        await program.connection.ask('exec_write', { run: program.run, data, last }).answer;
        this.#waiting -= bytes;
        if (bytes > 0) this.#answer({ type: 'taken', bytes });
      })
      // The end of the program is reported by its own answer.
      .catch(() => undefined);
  }

  #tell(op: 'kill' | 'exec_signal' | 'exec_resize', rest: object): void {
    void this.#program
      ?.then(({ connection, run }) => connection.ask(op, { run, ...rest }).answer)
      .catch(() => undefined);
  }

  #answer(frame: unknown): void {
    if (this.#client.readyState === this.#client.OPEN) this.#client.send(JSON.stringify(frame));
  }

  #conclude(frame: unknown): void {
    this.#answer(frame);
    this.#client.close(1000);
  }

  #refuse(): void {
    this.#client.close(1008, 'Invalid frame');
  }
}
