import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandboxOfTest } from './support/sandbox-of-test.ts';
import { eventsOf, ID, outline, outputs, startConversation, statusOf, step, untilStatus } from './support/worker.ts';

const sandbox = sandboxOfTest();

describe('a worker', () => {
  it('starts with a damaged log, does not change it, and warns', async () => {
    const damaged = path.join(sandbox.place.events, '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7.db');
    writeFileSync(damaged, 'this is no database, and it is long enough to be looked at as one'.repeat(100));
    const worker = await sandbox.start();
    expect(worker.notices.find((notice) => notice.type === 'warning')?.text).toMatch(
      /7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7/,
    );
    expect(readFileSync(damaged, 'utf8')).toContain('this is no database');
    expect((await worker.call('GET', '/api/conversations/count')).body).toBe(0);
  });

  it('has the pending action after a restart', async () => {
    let worker = await sandbox.start();
    await startConversation(worker, [step.run('echo done > done; cat done'), step.finish()], {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      secrets: { TOKEN: 'hidden' },
    });
    await untilStatus(worker, 'waiting_for_confirmation');
    await worker.end();
    worker = await sandbox.start();
    expect(await statusOf(worker)).toBe('waiting_for_confirmation');
    const accept = () =>
      worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, { accept: true });
    await Promise.all([accept(), accept()]);
    await untilStatus(worker, 'finished');
    const events = await eventsOf(worker);
    expect(outputs(events)).toEqual(['done']);
    expect(outline(events).filter((word) => word === 'TerminalAction')).toHaveLength(1);
    expect((await worker.call('GET', `/api/conversations/${ID}`)).body).toMatchObject({
      secret_registry: { secret_sources: { TOKEN: { value: null } } },
    });
  });

  it('serves a finished conversation completely after a restart', async () => {
    let worker = await sandbox.start();
    await startConversation(worker, [step.run('echo one'), step.finish('End.')]);
    await untilStatus(worker, 'finished');
    const before = await eventsOf(worker);
    await worker.end();
    worker = await sandbox.start();
    expect(await eventsOf(worker)).toEqual(before);
    expect(await statusOf(worker)).toBe('finished');
  });
});
