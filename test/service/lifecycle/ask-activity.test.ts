import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { askActivity } from '../../../src/service/lifecycle/ask-activity.ts';
import type { ServiceState } from '../../../src/service/lifecycle/state-file.ts';
import { clientOf, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const ACTIVITY = { running: false, conversations_running: 0, sandboxes_running: 0 };
const ask = (url: string, key = 'key') => askActivity({ state: { url } as ServiceState, key });

async function serverThat(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it('a service reports what runs in it to who has its key', async () => {
  const { url, key } = await services.start();
  expect(await ask(url, key)).toEqual(ACTIVITY);
  expect(await ask(url, 'another')).toBeNull();
  await clientOf({ url, key }).call('POST', '/api/v1/sandboxes');
  expect(await ask(url, key)).toEqual({ ...ACTIVITY, sandboxes_running: 1 });
});

it.each<[string, RequestListener]>([
  ['an error', (_, answer) => answer.writeHead(500).end(JSON.stringify(ACTIVITY))],
  ['no JSON', (_, answer) => answer.end('<html>')],
  [
    'an answer that breaks off',
    (_, answer) => answer.writeHead(200, { 'Content-Length': '99' }).write('{', () => answer.destroy()),
  ],
  ['nothing', (_, answer) => answer.destroy()],
])('a server that sends %s has no known activity', async (_what, listener) => {
  expect(await ask(await serverThat(listener))).toBeNull();
});

it('an address at which nothing listens has no known activity', async () => {
  const url = await serverThat(() => undefined);
  await new Promise((resolve) => servers.splice(0)[0]?.close(resolve));
  expect(await ask(url)).toBeNull();
});
