/**
 * A small git host on loopback: enough of the Forgejo interface, and git over HTTP, for a
 * conversation with a repository. It serves demo/hello with the branches main and next, to clients
 * that send the token.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { MATRIX_BASE, shell } from '../support/patch-matrix.ts';

export const GIT_TOKEN = 'token-of-the-git-host';

export interface GitHost {
  url: string;
  /** The repository itself, to read past the host. */
  dir: string;
  close(): Promise<void>;
}

/** Keeps its repositories in `folder`. */
export async function startGitHost(folder: string): Promise<GitHost> {
  makeDemo(folder);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (!url.pathname.startsWith('/api/v1/')) return serveGit(folder, request, response, url);
    if (!(request.headers.authorization ?? '').endsWith(GIT_TOKEN)) {
      return send(response, 401, { message: 'token required' });
    }
    answerApi(folder, url.pathname.slice('/api/v1'.length), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    dir: path.join(folder, 'demo', 'hello.git'),
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function git(cwd: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Demo', '-c', 'user.email=demo@example.com'];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  return execFileSync('git', [...identity, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();
}

function makeDemo(folder: string): void {
  mkdirSync(path.join(folder, 'demo'), { recursive: true });
  const work = mkdtempSync(path.join(folder, 'work-'));
  git(work, 'init', '-q', '-b', 'main');
  writeFileSync(path.join(work, 'README.md'), '# hello\n');
  git(work, 'add', '.');
  git(work, 'commit', '-qm', 'first');
  git(work, 'branch', 'next');
  git(work, 'switch', '-q', '-c', 'matrix');
  shell(work, MATRIX_BASE);
  git(work, 'add', '-A');
  git(work, 'commit', '-qm', 'matrix');
  git(work, 'switch', '-q', 'main');
  const bare = path.join(folder, 'demo', 'hello.git');
  git(folder, 'clone', '-q', '--bare', work, bare);
  git(bare, 'config', 'http.receivepack', 'true');
  rmSync(work, { recursive: true });
}

const OWNER = {
  id: 1,
  login: 'demo',
  username: 'demo',
  full_name: 'demo',
  email: 'demo@example.com',
  type: 'User',
};
const REPOSITORY = {
  id: 1,
  name: 'hello',
  full_name: 'demo/hello',
  owner: OWNER,
  private: false,
  stars_count: 0,
  default_branch: 'main',
  updated_at: '2026-01-01T00:00:00Z',
  permissions: { admin: true, push: true, pull: true },
};

function answerApi(folder: string, route: string, response: ServerResponse): void {
  if (route === '/user') return send(response, 200, OWNER);
  if (route === '/user/repos') return send(response, 200, [REPOSITORY]);
  if (route === '/repos/search') return send(response, 200, { ok: true, data: [REPOSITORY] });
  const rest = /^\/repos\/demo\/hello(\/.*)?$/.exec(route);
  if (rest === null) return send(response, 404, { message: 'Not Found' });
  if (rest[1] === undefined) return send(response, 200, REPOSITORY);
  if (rest[1] === '/branches') return send(response, 200, branches(folder));
  if (rest[1].startsWith('/contents/'))
    return sendContents(folder, decodeURIComponent(rest[1].slice(10)), response);
  send(response, /^\/(issues|pulls)/.test(rest[1]) ? 200 : 404, []);
}

function branches(folder: string): unknown[] {
  const bare = path.join(folder, 'demo', 'hello.git');
  const lines = git(
    bare,
    'for-each-ref',
    '--format=%(refname:short) %(objectname)',
    'refs/heads',
  ).split('\n');
  return lines.map((line) => {
    const [name, id] = line.split(' ');
    return { name, commit: { id, timestamp: '2026-01-01T00:00:00Z' }, protected: false };
  });
}

/** What the default branch holds at a path: the entries of a folder, or a file with its content. */
function sendContents(folder: string, at: string, response: ServerResponse): void {
  const bare = path.join(folder, 'demo', 'hello.git');
  const listed = (spec: string): { name: string; path: string; type: string }[] =>
    git(bare, 'ls-tree', 'main', spec)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, kind, , name = ''] = line.split(/\s+/);
        return { name: path.basename(name), path: name, type: kind === 'blob' ? 'file' : 'dir' };
      });
  const [entry] = listed(at);
  if (entry === undefined) return send(response, 404, { message: 'Not Found' });
  if (entry.type === 'dir') return send(response, 200, listed(`${at}/`));
  const content = Buffer.from(git(bare, 'show', `main:${at}`)).toString('base64');
  send(response, 200, { ...entry, encoding: 'base64', content });
}

function serveGit(
  folder: string,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): void {
  const header = (name: string): string => String(request.headers[name] ?? '');
  const backend = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      ...process.env,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: header('content-type'),
      REMOTE_USER: 'demo',
      GIT_PROTOCOL: header('git-protocol'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
    },
  });
  // A client that goes away, or a repository that is not there, ends the program before it has read
  // everything.
  backend.stdin.on('error', () => {});
  request.pipe(backend.stdin);
  let head = Buffer.alloc(0);
  const readHead = (chunk: Buffer): void => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    backend.stdout.off('data', readHead);
    const headers = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(/: */, 2));
    const fields = Object.fromEntries(headers) as Record<string, string>;
    response.writeHead(Number.parseInt(fields['Status'] ?? '200', 10), fields);
    response.write(head.subarray(end + 4));
    backend.stdout.pipe(response);
  };
  backend.stdout.on('data', readHead);
  backend.on('close', () => response.end());
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
