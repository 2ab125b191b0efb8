/** A server of sandboxes whose answers a test replaces one by one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { NOT_FOUND, startFake, type Asked, type FakeServer, type Reply } from '../../servers/support/fake-server.ts';
import { invoke, type Ended } from '../../support/world.ts';

export const record = (id: string, status = 'RUNNING', more: object = {}) => ({
  id,
  status,
  sandbox_spec_id: 'image',
  session_api_key: null,
  exposed_urls: null,
  created_at: '2026-03-01T10:00:00Z',
  ...more,
});

export interface OddServer {
  /** Set while a test runs. */
  readonly fake: FakeServer;
  /** The records that the server lists; empty at the start of each test. */
  sandboxes: ReturnType<typeof record>[];
  usual: (asked: Asked) => Reply;
  /** Answers with the reply of `odd`, or as usual where that is null. */
  answer: (odd: (asked: Asked) => Reply | null) => void;
  acs: (...args: string[]) => Promise<Ended>;
  acsUntil: (signal: AbortSignal, ...args: string[]) => Promise<Ended>;
}

export function useOddServer(): OddServer {
  let dir: string;
  let fake: FakeServer;
  beforeEach(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'acs-test-'));
    odd.sandboxes = [];
    fake = await startFake(odd.usual);
  });
  afterEach(async () => {
    await fake.close();
    await rm(dir, { recursive: true, force: true });
  });

  const odd: OddServer = {
    get fake() {
      return fake;
    },
    sandboxes: [],
    usual({ path: route, query }) {
      switch (route) {
        case '/api/v1/web-client/config':
          return { json: { app_mode: 'oss' } };
        case '/api/v1/app-conversations/count':
          return { json: 0 };
        case '/api/v1/app-conversations/search':
          return { json: { items: [], next_page_id: null } };
        case '/api/v1/sandboxes/search':
          return { json: { items: odd.sandboxes, next_page_id: null } };
        case '/api/v1/sandboxes':
          return { json: query.getAll('id').map((id) => odd.sandboxes.find((one) => one.id === id) ?? null) };
        default:
          return NOT_FOUND;
      }
    },
    answer(reply) {
      fake.handler = (asked) => reply(asked) ?? odd.usual(asked);
    },
    acs: (...args) => odd.acsUntil(new AbortController().signal, ...args),
    acsUntil: (signal, ...args) =>
      invoke({
        signal,
        args: ['sandbox', ...args],
        cwd: dir,
        env: { ACS_BASE_URL: fake.url, ACS_API_KEY: 'key', ACS_CONFIG_DIR: path.join(dir, 'config') },
      }),
  };
  return odd;
}
