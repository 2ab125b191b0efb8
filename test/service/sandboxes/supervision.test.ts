import { expect, it } from 'vitest';
import { createAgentClient } from '../../../src/service/sandboxes/agent-client.ts';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { askSandbox, runningRow, SandboxUnavailable } from '../../../src/service/sandboxes/supervision.ts';
import { freeBlock } from '../../support/ports.ts';

const starting = newSandbox('process', '2026-01-01T00:00:00.000000Z');

it('only a sandbox that runs is returned, and the refusal of another has its status and detail', () => {
  const running = { ...starting, status: 'RUNNING' as const };
  expect(runningRow(running, starting.id)).toBe(running);
  const failed = { ...starting, status: 'ERROR' as const, status_detail: 'it broke' };
  expect(() => runningRow(failed, failed.id)).toThrow(new SandboxUnavailable('Sandbox is ERROR: it broke'));
  expect(() => runningRow(starting, starting.id)).toThrow(new SandboxUnavailable('Sandbox is STARTING'));
  expect(() => runningRow(null, 'x')).toThrow(new SandboxUnavailable('Sandbox not found: x'));
});

it('a request to a sandbox that does not run is refused without a connection', async () => {
  const client = createAgentClient();
  const ask = { method: 'GET', path: '/alive' } as const;
  try {
    await expect(askSandbox(client, null, ask)).rejects.toThrow(new SandboxUnavailable('Sandbox is MISSING'));
    await expect(askSandbox(client, { ...starting, port: 1 }, ask)).rejects.toThrow('Sandbox is STARTING');
    const gone = { ...starting, status: 'RUNNING' as const, port: await freeBlock() };
    await expect(askSandbox(client, gone, ask)).rejects.toThrow(/cannot be reached: .*ECONNREFUSED/);
    await expect(askSandbox(client, gone, ask)).rejects.toBeInstanceOf(SandboxUnavailable);
  } finally {
    client.close();
  }
});
