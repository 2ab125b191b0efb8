import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandboxOfTest } from './support/sandbox-of-test.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const sandbox = sandboxOfTest();

/** The sources and libraries in the files of the build that a worker without requests loads. */
async function loadedAtStart(): Promise<string[]> {
  const record = path.join(sandbox.place.dir, 'loads.json');
  const hook = path.join(ROOT, 'test/fixtures/record-loads.cjs');
  const worker = await sandbox.start({ env: { NODE_OPTIONS: `--require=${hook}`, RECORD_LOADS: record } });
  await worker.end();
  const { files } = JSON.parse(readFileSync(record, 'utf8')) as { files: string[] };
  const { chunks } = JSON.parse(readFileSync(path.join(ROOT, 'dist/meta.json'), 'utf8')) as {
    chunks: Record<string, string[]>;
  };
  return files.flatMap((file) => chunks[path.relative(path.join(ROOT, 'dist'), file)] ?? []);
}

describe('a worker', () => {
  it('accepts each command twice', async () => {
    const worker = await sandbox.start();
    for (const type of ['pause', 'pause', 'resume', 'resume'] as const) await worker.command(type);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('starts without the library for archives', async () => {
    const atStart = await loadedAtStart();
    expect(atStart.filter((input) => input.includes('fflate'))).toEqual([]);
    expect(atStart.filter((input) => input.includes('/hono/'))).not.toEqual([]);
  });
});
