/** The files of a sandbox over the routes of its agent server: what is not a file goes through its shell as an archive. */
import type { Place } from '../../domain/place.ts';
import type { SandboxContent, SandboxFiles } from '../../domain/sandbox-files.ts';
import { AppError, isAppError } from '../../errors.ts';
import { isMissingRoute } from '../features.ts';
import type { Links } from '../links.ts';
import { serverText, unsupportedBy } from '../transport/answer.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';
import type { Transport } from '../transport/transport.ts';
import {
  ARCHIVE,
  FAILED,
  lookScript,
  packScript,
  PLACE,
  placeFileScript,
  placeFolderScript,
  placingOf,
  removeScript,
  stageOf,
  unpackedScript,
} from './file-scripts.ts';
import { fileForm } from './file-form.ts';
import { type CommandResult, runCommand } from './shell-command.ts';

const LOOK_SECONDS = 60;
/** For a folder that is packed or unpacked. */
const WORK_SECONDS = 1800;

/** @param workingDir reads the folder that relative paths begin at; null: where the agent server runs */
export function createSandboxFiles(
  links: Links,
  agent: Transport,
  workingDir: () => Promise<string | null>,
): SandboxFiles {
  return new AgentFiles(links, agent, workingDir);
}

class AgentFiles implements SandboxFiles {
  readonly #links: Links;
  readonly #agent: Transport;
  readonly #workingDir: () => Promise<string | null>;
  #routes: Promise<FileRoutes> | null = null;
  /** The script that removes it. */
  remains: string | null = null;

  constructor(links: Links, agent: Transport, workingDir: () => Promise<string | null>) {
    this.#links = links;
    this.#agent = agent;
    this.#workingDir = workingDir;
  }

  async look(path: string): Promise<Place> {
    const folder = path.startsWith('/') ? null : await this.#workingDir();
    const { stdout, stderr } = await this.#run(lookScript(path, folder), LOOK_SECONDS, 'read');
    const found = PLACE.exec(stdout);
    if (found === null) throw refused('the sandbox did not say what the path names', stderr);
    const [, kind, own = '', mode, up = '', bytes, where = ''] = found;
    return {
      path: decoded(where),
      kind: kind as Place['kind'],
      bytes: Number(bytes),
      // Without `stat -c` only whether it can be executed is known.
      mode: mode !== undefined ? parseInt(mode, 8) & 0o777 : own.includes('x') ? 0o777 : null,
      isReadable: own.includes('r') && (kind !== 'folder' || own.includes('x')),
      isWritable: own.includes('w'),
      parent: { isFolder: up.includes('d'), isWritable: up.includes('w') },
    };
  }

  async download(place: Place, into: (part: Uint8Array) => Promise<void>): Promise<void> {
    if (place.kind === 'file') return await this.#download(place.path, null, into);
    const token = this.#links.randomId();
    await this.#leaving(unpackedScript(token), async () => {
      const { stdout, stderr } = await this.#run(packScript(place.path, token), WORK_SECONDS, 'once');
      const made = ARCHIVE.exec(stdout);
      if (made === null) throw refused(`the folder ${place.path} could not be read`, stderr);
      await this.#download(decoded(made[2] ?? ''), Number(made[1]), into);
    });
  }

  async upload(target: Place, content: SandboxContent): Promise<void> {
    const { kind } = content;
    const isMerge = kind === 'folder' && target.kind === 'folder';
    const stage = stageOf(isMerge ? target.path : parentOf(target.path), this.#links.randomId());
    const routes = await this.#fileRoutes();
    await this.#leaving(removeScript(stage), async () => {
      const form = fileForm(content, this.#links.randomId());
      await this.#agent.request({
        method: 'POST',
        ...routes.of('upload', kind === 'file' ? stage : `${stage}/archive`),
        body: `(${content.bytes ?? 'unknown'} bytes)`,
        stream: { upload: form },
        safe: 'idempotent',
        timeoutMs: LIMITS_MS.fileWrite,
      });
      const placing = { stage, target: target.path, bytes: form.sent() };
      const script = kind === 'file' ? placeFileScript(placing, content.mode) : placeFolderScript(placing);
      const result = await this.#run(script, WORK_SECONDS, 'once');
      this.remains = result.exitCode === 0 ? null : removeScript(placingOf(stage));
      if (result.exitCode !== 0) throw notPlaced(result);
    });
  }

  async removeRemains(remains: string): Promise<void> {
    await this.#run(remains, LOOK_SECONDS, 'idempotent');
  }

  /** Removes what the work has left, also after an error unless that ends all requests: then it is in `remains`. */
  async #leaving(remains: string, work: () => Promise<void>): Promise<void> {
    this.remains = remains;
    try {
      await work();
    } finally {
      if (this.remains !== null && !this.#links.signal.aborted && this.#links.mode === 'live') {
        await this.removeRemains(this.remains).then(
          () => (this.remains = null),
          () => undefined,
        );
      }
    }
  }

  async #run(command: string, timeoutSeconds: number, safe: 'read' | 'idempotent' | 'once'): Promise<CommandResult> {
    const result = await runCommand(this.#links, this.#agent, { command, cwd: null, timeoutSeconds, safe }).catch(
      (error: unknown) => {
        if (isNoRoute(error)) throw lacks('runs no commands', error);
        throw error;
      },
    );
    if (result.exitCode === 44) throw lacks('lacks tar or base64');
    return result;
  }

  /** @param bytes of a file that does not change; null: not known */
  async #download(path: string, bytes: number | null, into: (part: Uint8Array) => Promise<void>): Promise<void> {
    const routes = await this.#fileRoutes();
    let received = 0;
    const { headers } = await this.#agent.request({
      method: 'GET',
      ...routes.of('download', path),
      safe: 'idempotent',
      expect: 'bytes',
      stream: {
        into: async (part) => {
          received += part.length;
          await into(part);
        },
      },
    });
    const announced = headers['content-length'] === undefined ? bytes : Number(headers['content-length']);
    if (announced === null || received === announced) return;
    throw new AppError('network', `the connection ended after ${received} of ${announced} bytes`, { retryable: true });
  }

  #fileRoutes(): Promise<FileRoutes> {
    return (this.#routes ??= findRoutes(this.#agent));
  }
}

type FileRoute = 'download' | 'upload';

interface FileRoutes {
  of(route: FileRoute, path: string): { path: string; query?: Record<string, string> };
}

/**
 * The query form since 1.12.0, the path form before (interface 7.5): the answer to a folder shows which there is. A server
 * with the path form alone redirects from the query form to an empty path, and answers that it is not absolute.
 */
async function findRoutes(agent: Transport): Promise<FileRoutes> {
  const call = { method: 'GET', safe: 'read', accept: [400, 404, 405, 422, 500], mayBeMissing: true } as const;
  const byQuery = await agent.request({ ...call, path: '/api/file/download', query: { path: '/' } });
  const isEmptyPath = /must be absolute/i.test(serverText(byQuery.body) ?? '');
  if (!isMissingRoute(byQuery) && !isEmptyPath) {
    return { of: (route, path) => ({ path: `/api/file/${route}`, query: { path } }) };
  }
  const byPath = await agent.request({ ...call, path: '/api/file/download//' });
  if (isMissingRoute(byPath)) throw unsupportedBy(byPath, 'the agent server of this sandbox copies no files');
  return { of: (route, path) => ({ path: `/api/file/${route}/${inRoute(path)}` }) };
}

/** Its route matches no line feed, and the answer is then that of a missing route. */
function inRoute(path: string): string {
  if (path.includes('\n')) throw lacks('has no route for a path with a line feed');
  return path.split('/').map(encodeURIComponent).join('/');
}

const REFUSALS: Record<string, (path: string) => AppError> = {
  incomplete: (path) => new AppError('network', `not all bytes of ${path} arrived`, { retryable: true }),
  folder: (path) => new AppError('conflict', `${path} in the sandbox is a folder; a file does not replace it`),
  'not-folder': (path) =>
    new AppError('conflict', `${path} in the sandbox is not a folder; a folder does not replace it`),
  write: (path) => new AppError('conflict', `cannot write ${path} in the sandbox`),
};

function notPlaced({ stdout, stderr }: CommandResult): AppError {
  const [, reason = '', where = ''] = FAILED.exec(stdout) ?? [];
  const error = REFUSALS[reason]?.(decoded(where));
  const said = firstLine(stderr);
  if (error === undefined) return refused('what was uploaded could not be put in its place', stderr);
  return said === '' ? error : new AppError(error.kind, `${error.message}: ${said}`, error.details);
}

function refused(message: string, stderr: string): AppError {
  const said = firstLine(stderr);
  const kind = /permission denied|no space left|quota exceeded/i.test(said) ? 'conflict' : 'server';
  return new AppError(kind, said === '' ? message : `${message}: ${said}`);
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 500);
}

function isNoRoute(error: unknown): boolean {
  return isAppError(error) && ['not-found', 'unsupported'].includes(error.kind);
}

function lacks(what: string, cause?: unknown): AppError {
  return new AppError('unsupported', `files of this sandbox cannot be copied: it ${what}`, { cause });
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
