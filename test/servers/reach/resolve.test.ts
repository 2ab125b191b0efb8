import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { resolveHost } from '../../../src/servers/reach/resolve.ts';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-resolve-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const options = () => ({
  node: process.execPath,
  env: { PATH: process.env.PATH },
  timeoutMs: 10_000,
  signal: new AbortController().signal,
});

/** Stands for Node with a resolver that never answers. */
async function endless(): Promise<string> {
  const file = path.join(dir, 'endless');
  await writeFile(file, '#!/bin/sh\nexec sleep 600\n');
  await chmod(file, 0o700);
  return file;
}

describe('the addresses of a host', () => {
  it('are those of the system, and an address is its own', async () => {
    expect(await resolveHost('localhost', options())).toContain('127.0.0.1');
    expect(await resolveHost('[::1]', options())).toEqual(['::1']);
    expect(await resolveHost('127.0.0.1', options())).toEqual(['127.0.0.1']);
  });

  it('are an error with the name and the code when the name does not exist', async () => {
    await expect(resolveHost('no-such-host.invalid', options())).rejects.toMatchObject({
      kind: 'network',
      message: expect.stringMatching(/^the name no-such-host.invalid cannot be resolved \(E\w+\)$/) as string,
    });
  });

  it('are an error when the resolver does not answer within the limit', async () => {
    await expect(
      resolveHost('acs.invalid', { ...options(), node: await endless(), timeoutMs: 50 }),
    ).rejects.toMatchObject({
      kind: 'network',
      message: 'the name acs.invalid was not resolved within 0.05 s',
    });
  });

  it('are not waited for after an interruption', async () => {
    const interruption = new AbortController();
    const found = resolveHost('acs.invalid', { ...options(), node: await endless(), signal: interruption.signal });
    const reason = new AppError('interrupted', 'interrupted');
    interruption.abort(reason);
    await expect(found).rejects.toBe(reason);
  });
});
