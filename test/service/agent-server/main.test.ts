import { describe, expect, it } from 'vitest';
import { sandboxOfTest } from './support/sandbox-of-test.ts';

const sandbox = sandboxOfTest();

describe('a worker', () => {
  it('accepts each command twice', async () => {
    const worker = await sandbox.start();
    for (const type of ['pause', 'pause', 'resume', 'resume'] as const) await worker.command(type);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });
});
