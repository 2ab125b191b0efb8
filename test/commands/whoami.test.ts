import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type Invocation, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const NOTHING = { ACS_BASE_URL: undefined, ACS_API_KEY: undefined };

function whoami(args: string[], rest: Partial<Invocation> = {}) {
  const dataDir = path.join(world.dir, 'unused-data');
  return world.invoke({ args: ['whoami', ...args], ...rest, env: { ACS_DATA_DIR: dataDir, ...rest.env } });
}

describe('whoami', () => {
  it('prints the server, its dialect, and the sources of URL and key', async () => {
    const { code, out, err } = await whoami(['--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const record = JSON.parse(out) as Record<string, unknown>;
    expect(Object.keys(record)).toEqual([
      'profile',
      'base_url',
      'base_url_source',
      'key_source',
      'dialect',
      'dialects',
      'version',
      'flavour',
      'features',
      'user',
      'email',
      'organization',
      'unknown_features',
    ]);
    expect(record).toMatchObject({
      profile: null,
      base_url: world.service.url,
      base_url_source: 'env:ACS_BASE_URL',
      key_source: 'env:ACS_API_KEY',
      dialect: 'v1',
      dialects: expect.arrayContaining(['v1']) as string[],
    });
    expect(out).not.toContain(world.service.key);
  });

  it('takes the key from a file or stdin and warns that ACS_API_KEY is not used', async () => {
    const keyFile = path.join(world.dir, 'key');
    writeFileSync(keyFile, `${world.service.key}\n`);
    const fromFile = await whoami(['--api-key-file', 'key', '--fields', 'key_source']);
    expect(fromFile).toMatchObject({
      code: 0,
      out: 'file\n',
      err: 'ACS_API_KEY is set but not used: --api-key-file gives the key\n',
    });
    const fromStdin = await whoami(['--api-key-file', '-', '--fields', 'key_source'], { stdin: world.service.key });
    expect(fromStdin).toMatchObject({ code: 0, out: 'stdin\n' });
  });

  it('exits 4 for a wrong key, also when the probe of the server is cached', async () => {
    const { code, err } = await whoami([], { env: { ACS_API_KEY: 'wr0ng-key' } });
    expect(code).toBe(4);
    expect(err).not.toContain('wr0ng-key');
  });

  it('exits 10 for a server that cannot be reached', async () => {
    expect((await whoami([], { env: { ...NOTHING, ACS_BASE_URL: 'http://127.0.0.1:9' } })).code).toBe(10);
  });

  it('reports that the local service does not run, and does not start it', async () => {
    const { code, out, err } = await whoami(['--profile', 'local'], { env: NOTHING });
    expect({ code, out }).toEqual({ code: 10, out: '' });
    expect(err).toContain('error: the local service is not running\n');
    expect(existsSync(path.join(world.dir, 'unused-data'))).toBe(false);
  });

  it('uses the key of the local service for it', async () => {
    const { code, out } = await whoami(['--profile', 'local', '--json'], {
      env: { ...NOTHING, ACS_DATA_DIR: world.dataDir },
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      profile: 'local',
      base_url: world.service.url,
      key_source: 'local',
      flavour: 'local',
    });
  });

  it('exits 3 off a terminal with nothing configured', async () => {
    for (const env of [NOTHING, { ...NOTHING, ACS_BASE_URL: '' }, { ...NOTHING, ACS_API_KEY: 'lost' }]) {
      const { code, out } = await whoami([], { env });
      expect({ code, out }).toEqual({ code: 3, out: '' });
    }
    expect(existsSync(path.join(world.dir, 'unused-data'))).toBe(false);
  });

  it('accepts one profile', async () => {
    expect((await whoami(['-p', 'local,other'], { env: NOTHING })).code).toBe(3);
    expect((await whoami(['-p', 'local,'], { env: NOTHING })).code).toBe(2);
  });
});
