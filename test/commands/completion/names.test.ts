import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, invoke, type World } from '../../support/world.ts';

const ID = '11111111aaaa41118111111111111111';

/** The list of secrets is answered after an hour. */
const SLOW_SECRETS = { rules: [{ path: '/api/**/secrets**', latency: '1h' }] };

let world: World;
/** As in a completion: no server is named, and the local service is the one of this world. */
const complete = (...args: string[]) =>
  world.invoke({
    args: ['__complete', ...args],
    env: { ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_DATA_DIR: world.dataDir },
  });

beforeAll(async () => {
  world = await createWorld({ spec: 'process', faults: SLOW_SECRETS });
  await world.acs(
    'conv',
    'new',
    '--no-repo',
    '--replay',
    'demo',
    '--id',
    ID,
    '--title',
    'First: a $(touch x) title',
    '--wait',
  );
});
afterAll(() => world.close());

describe('while the local service is running', () => {
  it('__complete conversations prints @last and the ids with status and title', async () => {
    const { code, out, err } = await complete('conversations');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`@last\t${ID}\n${ID}\tfinished · First: a $(touch x) title\n`);
  });

  it('__complete sandboxes prints ids with their status', async () => {
    expect((await complete('sandboxes')).out).toMatch(/^\w{22}\trunning\n$/);
  });

  it('__complete specs prints ids', async () => {
    expect((await complete('specs')).out).toMatch(/^process$/m);
  });

  it('__complete prints nothing when the answer takes longer than the limit', async () => {
    expect(await complete('secrets')).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('__complete settings prints the names of settings with their descriptions', async () => {
    expect((await complete('settings')).out).toMatch(/^llm_model\t\S/m);
  });
});

describe('without the local service', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'acs-names-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const env = { HOME: dir, ACS_CONFIG_DIR: path.join(dir, 'config'), ACS_DATA_DIR: path.join(dir, 'data') };

  it.each(['conversations', 'sandboxes', 'specs', 'secrets', 'model-profiles'])(
    '__complete %s prints nothing and starts nothing',
    async (what) => {
      expect(await invoke({ args: ['__complete', what], cwd: dir, env })).toMatchObject({ code: 0, out: '', err: '' });
      expect(existsSync(env.ACS_DATA_DIR)).toBe(false);
    },
  );

  it('__complete sends no request to a server that is not the local service', async () => {
    const requests: string[] = [];
    const server = createServer((request, response) => {
      requests.push(request.url ?? '');
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      for (const what of ['conversations', 'sandboxes', 'specs', 'secrets'])
        expect((await invoke({ args: ['__complete', what, '--base-url', url], cwd: dir, env })).out).toBe('');
      expect(requests).toEqual([]);
    } finally {
      server.close();
    }
  });
});
