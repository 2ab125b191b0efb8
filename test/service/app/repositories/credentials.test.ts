import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { conversation, createTestApp, startedTask, type TestApp, until } from '../support.ts';

let app: TestApp;
let server: Server;
let base: string;
/** What each request brought to the host of the repositories. */
const brought: (string | undefined)[] = [];

/** Serves the bare repositories of a folder as git's plain HTTP does, to those that bring credentials. */
beforeAll(async () => {
  app = await createTestApp();
  const bare = path.join(app.dir, 'project.git');
  const empty = execFileSync('git', ['hash-object', '-t', 'tree', '/dev/null'], { encoding: 'utf8' }).trim();
  const git = (...argv: string[]): string => {
    const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' };
    const env = { PATH: process.env.PATH, HOME: app.dir, ...who };
    return execFileSync('git', argv, { env, encoding: 'utf8', input: '' }).trim();
  };
  git('init', '-q', '--bare', '-b', 'main', bare);
  git('-C', bare, 'hash-object', '-w', '-t', 'tree', '--stdin');
  git('-C', bare, 'update-ref', 'refs/heads/main', git('-C', bare, 'commit-tree', empty, '-m', 'first'));
  git('-C', bare, 'update-server-info');
  server = createServer((request, answer) => {
    brought.push(request.headers.authorization);
    if (request.headers.authorization === undefined) {
      answer.writeHead(401, { 'WWW-Authenticate': 'Basic realm="x"' }).end();
      return;
    }
    try {
      answer.end(readFileSync(path.join(app.dir, new URL(request.url ?? '/', base).pathname)));
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await app.close();
});

describe('credentials in the URL of a repository', () => {
  it('are used by git and are not stored where the agent can read them', async () => {
    const url = base.replace('//', '//jane:hu%40sh@');
    const task = await startedTask(app, { replay_json: 'demo', selected_repository: `${url}/project.git` });
    expect(task).toMatchObject({ status: 'READY', detail: null });
    expect(brought.at(-1)).toBe(`Basic ${Buffer.from('jane:hu@sh').toString('base64')}`);
    const shown = await conversation(app, task.app_conversation_id ?? '');
    const config = readFileSync(path.join(shown?.tags.archiveworkspacepath ?? '', '.git', 'config'), 'utf8');
    expect(config).toContain(`${base}/project.git`);
    expect(config).not.toContain('jane');
    expect(config).not.toContain('hu%40sh');
  });

  it.each(['V0', 'V1'])('over %s are neither stored nor printed', async (dialect) => {
    const url = `${base.replace('//', '//jane:hushed@')}/project.git`;
    const isV1 = dialect === 'V1';
    const created = isV1
      ? await app.call('POST', '/api/v1/app-conversations', { replay_json: 'demo', selected_repository: url })
      : await app.call('POST', '/api/conversations', { replay_json: 'demo', repository: url });
    const { id = '', conversation_id: conversationId = '' } = created.body as Record<string, string>;
    const { startTasks } = app.store;
    const row = await until(
      () => (isV1 ? startTasks.get(id) : startTasks.page({ conversationId }, 'CREATED_AT_DESC', 1, 0)[0]),
      (task) => task?.status === 'READY' || task?.status === 'ERROR',
    );
    expect(row).toMatchObject({ status: 'READY', request: { selected_repository: `${base}/project.git` } });
    const kept = app.store.conversations.get(row?.conversation_id ?? '');
    expect(kept).toMatchObject({ repository: `${base}/project.git` });
    expect(JSON.stringify([created.body, row, kept])).not.toContain('hushed');
  });
});

describe('the token of a provider', () => {
  it('is sent to the host of the provider and to no other', async () => {
    const tokens = { github: { token: 'provider-token', host: null } };
    await app.call('POST', '/api/add-git-providers', { provider_tokens: tokens });
    brought.length = 0;
    const wanted = { replay_json: 'demo', selected_repository: `${base}/project.git`, git_provider: 'github' };
    expect((await startedTask(app, wanted)).status).toBe('ERROR');
    expect(brought.length).toBeGreaterThan(0);
    expect(brought.filter((header) => header !== undefined)).toEqual([]);
    await app.call('POST', '/api/add-git-providers', {
      provider_tokens: { github: { token: 'provider-token', host: base } },
    });
    expect((await startedTask(app, wanted)).status).toBe('READY');
    expect(brought.at(-1)).toBe(`Basic ${Buffer.from('x-access-token:provider-token').toString('base64')}`);
  });
});
