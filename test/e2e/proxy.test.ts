/** A server that acs reaches through a proxy, with a certificate of a private authority. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { finish, ID, KEY, status, userMessage, v1Server } from '../client/support/v1-server.ts';
import { startFake, startProxy, untilTestEnds, type FakeServer } from '../support/server.ts';
import { PACKAGE_ROOT } from '../support/world.ts';
import { start } from './processes.ts';

/** `authority.pem` signed `signed.pem`, for acs.test and its subdomains. */
const file = (name: string) => path.join(PACKAGE_ROOT, 'test/fixtures/tls', `${name}.pem`);

let home: string;
beforeEach(async () => void (home = await mkdtemp(path.join(tmpdir(), 'acs-test-'))));
afterEach(() => rm(home, { recursive: true }));

/** A running conversation at `origin`; its last events are sent on the web socket only. */
async function startServer(origin: string): Promise<FakeServer> {
  const v1 = v1Server(() => origin);
  v1.addConversation({
    conversation_url: `${origin.replace('//', '//agent.')}/agent/api/conversations/${ID}`,
  });
  v1.agentEvents = [userMessage('go')];
  const server = await startFake(
    (asked) => v1.handler(asked),
    origin.startsWith('https:')
      ? { key: readFileSync(file('signed-key')), cert: readFileSync(file('signed')) }
      : undefined,
  );
  server.onSocket = (socket) => {
    v1.conversations.get(ID)!['execution_status'] = 'finished';
    for (const event of [finish('made it'), status('finished')]) socket.send(JSON.stringify(event));
  };
  return server;
}

/** Follows the conversation at acs.test, which only the proxy can resolve. */
async function follow(scheme: 'http' | 'https', env: Record<string, string> = {}) {
  const origin = `${scheme}://acs.test`;
  const server = await untilTestEnds(startServer(origin));
  const proxy = await untilTestEnds(startProxy({ to: () => server.url }));
  const ended = await start(['conv', 'follow', ID], {
    cwd: home,
    env: {
      HOME: home,
      ACS_BASE_URL: origin,
      ACS_API_KEY: KEY,
      [`${scheme}_proxy`]: proxy.url,
      ...env,
    },
  }).ended;
  return { ...ended, server, targets: new Set(proxy.asked.map(({ url }) => url)) };
}

it.each([
  ['http', 80, {}],
  ['https', 443, { NODE_EXTRA_CA_CERTS: file('authority') }],
] as const)('the proxy carries requests and the web socket over %s', async (scheme, port, env) => {
  const { code, out, err, server, targets } = await follow(scheme, env);
  expect(code, err).toBe(0);
  expect(out).toContain('made it');
  expect(server.sockets).toHaveLength(1);
  expect(targets).toEqual(new Set([`acs.test:${port}`, `agent.acs.test:${port}`]));
});

it('no request is sent to a server whose certificate has an unknown authority', async () => {
  const { code, err, server } = await follow('https');
  expect(code, err).toBe(10);
  expect(err).toMatch(/UNABLE_TO_VERIFY_LEAF_SIGNATURE/);
  expect(err).toContain('NODE_EXTRA_CA_CERTS');
  expect(server.asked).toEqual([]);
});
