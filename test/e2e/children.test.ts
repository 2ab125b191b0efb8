/** Programs that acs starts do not inherit the keys of servers. */
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createWorld, invoke, type World } from '../support/world.ts';

const KEYS = {
  ACS_API_KEY: 'hush-word-1001',
  OPENHANDS_API_KEY: 'hush-word-1002',
  OPENHANDS_CLOUD_API_KEY: 'hush-word-1003',
};

let dir: string;
let env: Record<string, string | undefined>;
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-children-'));
  await mkdir(path.join(dir, 'bin'));
  env = {
    ...KEYS,
    PATH: `${path.join(dir, 'bin')}:${process.env.PATH ?? ''}`,
    HOME: dir,
    ACS_BASE_URL: 'http://127.0.0.1:9',
  };
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A program of this name that writes its environment down, and then runs `then`. */
async function program(name: string, then: string): Promise<string> {
  const file = path.join(dir, 'bin', name);
  await writeFile(file, `#!/bin/sh\nenv >> '${path.join(dir, 'environment')}'\n${then}\n`);
  await chmod(file, 0o700);
  return file;
}

const seen = () => readFile(path.join(dir, 'environment'), 'utf8');

describe('at a server', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({ spec: 'process' });
  });
  afterAll(() => world.close());
  const around = () => ({
    ...env,
    ACS_BASE_URL: world.service.url,
    ACS_API_KEY: world.service.key,
  });

  it('git is started without the keys of servers', async () => {
    await program('git', 'exit 128');
    await invoke({ args: ['conv', 'new', 'hi', '--repo', '.'], cwd: dir, env: around() });
    expect(await seen()).toContain('GIT_TERMINAL_PROMPT=0');
    expect(await seen()).not.toMatch(/hush-word|API_KEY/);
  });

  it('the editor is started without the keys of servers', async () => {
    const EDITOR = await program('edit', 'exit 0');
    await invoke({
      args: ['settings', 'edit'],
      cwd: dir,
      env: { ...around(), EDITOR },
      columns: 80,
    });
    expect(await seen()).toContain('EDITOR=');
    expect(await seen()).not.toMatch(/hush-word|API_KEY/);
  });
});

it('the local service in the background is started without the keys of servers', async () => {
  const around = { ...env, ACS_DATA_DIR: path.join(dir, 'data') };
  const { out, err } = await invoke({
    args: ['serve', '--detach', '--json'],
    cwd: dir,
    env: around,
  });
  try {
    const { pid } = JSON.parse(out) as { pid: number };
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    expect(environment, err).toContain(`HOME=${dir}`);
    expect(environment).not.toContain('hush-word');
  } finally {
    await invoke({ args: ['serve', '--stop'], cwd: dir, env: around });
  }
});
