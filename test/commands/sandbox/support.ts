/** The id of a new sandbox. */
import { execFileSync, spawn } from 'node:child_process';
import {
  createWriteStream,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach } from 'vitest';
import type { Ended, Invocation, World } from '../../support/world.ts';
import { clockFrom } from '../../../src/base/clock.ts';
import { useV1 } from '../../support/use-scripted.ts';

export async function startSandbox(world: World): Promise<string> {
  const { code, out, err } = await world.acs('sandbox', 'start', '--json');
  if (code !== 0) throw new Error(`sandbox start ended with ${code}: ${err}`);
  return (JSON.parse(out) as { id: string }).id;
}

// The id of the sandbox.

export const ID = 'boxboxboxboxboxboxbox1';

/**
 * A server with one sandbox, whose files are in a folder, and a folder to copy from and to; new for
 * each test.
 */
export function useCopyWorld() {
  const server = useV1({ clock: () => clockFrom(() => Date.now()) });
  const at = {
    server,
    /** Has the other folders. */
    dir: '',
    /** The folder in which commands run. */
    here: '',
    /** The workspace folder of the sandbox. */
    box: '',
    agent: undefined as unknown as AgentFiles,
    async useAgent(agent: AgentFiles): Promise<void> {
      at.agent = agent;
      at.box = agent.box;
      const exposed_urls = [{ name: 'AGENT_SERVER', url: await agent.listen() }];
      server.v1.addSandbox(ID, { exposed_urls, session_api_key: 'session' });
    },
    cp: (...args: string[]): Promise<Ended> => at.run({ args }),
    run: ({ args, ...invocation }: Invocation): Promise<Ended> =>
      server.invoke({ cwd: at.here, ...invocation, args: ['sandbox', 'cp', ...args] }),
  };
  beforeEach(async () => {
    at.dir = mkdtempSync(path.join(tmpdir(), 'acs-cp-test-'));
    at.here = path.join(at.dir, 'here');
    mkdirSync(at.here);
    await at.useAgent(new AgentFiles(path.join(at.dir, 'box')));
  });
  afterEach(async () => {
    await at.agent.close();
    execFileSync('chmod', ['-R', 'u+rwx', at.dir]);
    rmSync(at.dir, { recursive: true });
  });
  return at;
}

/** What is in a folder: names with their content, mode or target. */
export function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (name: string): void => {
    const full = path.join(folder, name);
    const { mode } = lstatSync(full);
    if (lstatSync(full).isSymbolicLink()) found[name] = `-> ${readlinkSync(full)}`;
    else if (lstatSync(full).isFile())
      found[name] = `${(mode & 0o111) === 0 ? '' : 'x '}${readFileSync(full, 'utf8')}`;
    else {
      found[`${name}/`] = (mode & 0o777).toString(8);
      for (const child of readdirSync(full)) visit(path.join(name, child));
    }
  };
  visit('.');
  return found;
}

export function put(root: string, files: Record<string, string>): void {
  for (const [name, content] of Object.entries(files)) {
    const full = path.join(root, name);
    mkdirSync(path.dirname(full), { recursive: true });
    if (name.endsWith('/')) mkdirSync(full, { recursive: true });
    else if (content.startsWith('-> ')) symlinkSync(content.slice(3), full);
    else
      writeFileSync(full, content.replace(/^x /, ''), {
        mode: content.startsWith('x ') ? 0o755 : 0o644,
      });
  }
}

// An agent server with the routes for files and commands: a real shell and real files in a folder,
// and faults on request.

export interface AgentFilesOptions {
  /**
   * `path`: the routes up to agent server 1.11, which have no query; as FastAPI it redirects to a
   * slash at the end.
   */
  routes?: 'query' | 'path';
}

export class AgentFiles {
  /** Where commands run. */
  readonly box: string;
  readonly requests: string[] = [];
  /** Called before each answer; what it answers is taken in place of the usual answer. */
  fault: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  /** Called with each part of an upload and of a download that goes out. */
  onBytes: (direction: 'up' | 'down', bytes: number) => void = () => undefined;
  /** The bytes of a download, in place of those of the file. */
  content: Buffer | null = null;
  readonly #server: Server;
  readonly #outputs = new Map<string, object>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #temporary = new Set<string>();
  #commands = 0;
  readonly #routes: 'query' | 'path';

  constructor(box: string, { routes = 'query' }: AgentFilesOptions = {}) {
    this.box = box;
    this.#routes = routes;
    mkdirSync(box, { recursive: true });
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Resolves once every command that was started has ended, also one whose caller has gone. */
  async commandsEnded(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** The temporary folders of commands that are still there. */
  temporary(): string[] {
    return [...this.#temporary].filter((folder) => existsSync(folder));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://agent');
    this.requests.push(`${request.method} ${pathname}`);
    if (this.fault(request, response)) return;
    if (pathname === '/api/bash/start_bash_command') return await this.#start(request, response);
    if (pathname === '/api/bash/execute_bash_command')
      return json(response, 200, await this.#run(request));
    if (pathname === '/api/bash/bash_events/search') {
      const output = this.#outputs.get(searchParams.get('command_id__eq') ?? '');
      return json(response, 200, {
        items: output === undefined ? [] : [output],
        next_page_id: null,
      });
    }
    const file = /^\/api\/file\/(download|upload)(\/.*)?$/.exec(pathname);
    const isQuery = file?.[2] === undefined;
    if (file === null || (!isQuery && this.#routes === 'query'))
      return json(response, 404, { detail: 'Not Found' });
    if (isQuery && this.#routes === 'path')
      return response.writeHead(307, { location: `${pathname}/` }).end();
    if (file[2] === '/') return json(response, 400, { detail: 'Path must be absolute' });
    const name = isQuery
      ? (searchParams.get('path') ?? '')
      : decodeURIComponent((file[2] ?? '').slice(1));
    if (file[1] === 'download') await this.#download(name, response);
    else await this.#upload(name, request, response);
  }

  async #start(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const output = await this.#run(request);
    json(response, 200, { id: output.command_id, kind: 'BashCommand' });
  }

  async #run(request: IncomingMessage): Promise<{ command_id: string }> {
    const running = this.#execute(request);
    this.#running.add(running);
    return await running.finally(() => this.#running.delete(running));
  }

  async #execute(request: IncomingMessage): Promise<{ command_id: string }> {
    const { command } = JSON.parse((await all(request)).toString()) as { command: string };
    const id = String((this.#commands += 1)).padStart(32, '0');
    for (const [folder] of command.matchAll(/\/tmp\/acs-cp-[0-9a-f]{8}-[\w-]+/g))
      this.#temporary.add(folder);
    const env = { PATH: process.env['PATH'] };
    const shell = spawn('/bin/sh', ['-c', command], { cwd: this.box, env });
    const [stdout, stderr] = await Promise.all([all(shell.stdout), all(shell.stderr)]);
    const exitCode =
      shell.exitCode ??
      (await new Promise<number>((resolve) => shell.once('exit', (code) => resolve(code ?? -1))));
    const output = {
      id,
      command_id: id,
      order: 0,
      kind: 'BashOutput',
      exit_code: exitCode,
      stdout: stdout.toString(),
      stderr: stderr.toString(),
    };
    this.#outputs.set(id, output);
    return output;
  }

  async #download(name: string, response: ServerResponse): Promise<void> {
    if (!existsSync(name)) return json(response, 404, { detail: 'File not found' });
    if (!statSync(name).isFile()) return json(response, 400, { detail: 'Path is not a file' });
    const bytes = this.content ?? readFileSync(name);
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': bytes.length,
    });
    for (let at = 0; at < bytes.length; at += 16_384) {
      const part = bytes.subarray(at, at + 16_384);
      if (!response.write(part)) await drained(response);
      this.onBytes('down', part.length);
      if (response.destroyed) return;
    }
    response.end();
  }

  /** As genuine servers: all of the form is received before the file is written. */
  async #upload(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        this.onBytes('up', chunk.length);
      }
    } catch {
      return;
    }
    const type = request.headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(Buffer.concat(chunks)), {
      headers: { 'content-type': type },
    }).formData();
    const file = form.get('file') as File;
    mkdirSync(path.dirname(name), { recursive: true });
    await pipeline(file.stream() as unknown as AsyncIterable<Uint8Array>, createWriteStream(name));
    json(response, 200, { success: true });
  }
}

async function all(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Until the connection takes more, or is closed. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
