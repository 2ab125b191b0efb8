/** `acs serve` with a data directory of its own for each test. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type Ended, type Invocation, invoke } from '../support/world.ts';

export interface ServeData {
  /** HOME and working directory of the commands, the same for all tests of a file. */
  base: string;
  /** Another path in `base` for each test, where nothing is at its start. */
  readonly dataDir: string;
  acs: (args: string[], rest?: Partial<Invocation>) => Promise<Ended>;
  /** What a command prints with --json. */
  json: (args: string[]) => Promise<Record<string, unknown>>;
}

/** Stops the service of each test after it. */
export function useServeData(): ServeData {
  const base = mkdtempSync(path.join(os.tmpdir(), 'acs-serve-'));
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  let dataDir = '';
  let count = 0;
  beforeEach(() => {
    count += 1;
    dataDir = path.join(base, `data-${count}`);
  });
  afterEach(async () => {
    if (existsSync(dataDir)) await acs(['serve', '--stop']);
  });

  const acs: ServeData['acs'] = (args, rest = {}) => {
    const env = {
      PATH: process.env.PATH,
      HOME: base,
      ACS_CONFIG_DIR: path.join(base, 'config'),
      ACS_DATA_DIR: dataDir,
    };
    return invoke({ args, cwd: base, ...rest, env: { ...env, ...rest.env } });
  };
  return {
    base,
    get dataDir() {
      return dataDir;
    },
    acs,
    json: async (args) => JSON.parse((await acs([...args, '--json'])).out) as Record<string, unknown>,
  };
}
