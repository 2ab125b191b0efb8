import { expect, it } from 'vitest';
import { createSandboxStatusWriter } from '../../../src/service/sandboxes/status-writer.ts';
import { guarded, inBackground, writeNotice } from '../../../src/service/sandboxes/worker-notices.ts';
import type { WorkerNotice } from '../../../src/service/sandboxes/worker-protocol.ts';
import { storeOfTest } from './support.ts';

const test = storeOfTest();

it('a worker that is ready makes its sandbox run, and a warning is kept as its detail', () => {
  const { id } = test.add({ status: 'STARTING' });
  const lines: string[] = [];
  const passed: unknown[] = [];
  const statuses = createSandboxStatusWriter(test.store.sandboxes, (line) => lines.push(line));
  const write = (notice: WorkerNotice): void => {
    writeNotice(id, notice, {
      statuses,
      log: (line) => lines.push(line),
      onConversation: (...given) => passed.push(given),
    });
  };
  write({ type: 'warning', text: 'a log is damaged' });
  write({ type: 'ready', port: 7, working_dir: '/w', spec: 'process' });
  write({ type: 'failed', text: 'it broke' });
  write({ type: 'subscribers', count: 1 });
  const status = { status: 'RUNNING', port: 7, working_dir: '/w', status_detail: 'a log is damaged' };
  expect(test.store.sandboxes.get(id)).toMatchObject(status);
  expect(lines).toEqual([`sandbox ${id}: a log is damaged`, `sandbox ${id}: it broke`]);
  const notice = { type: 'conversation', conversation_id: 'a', deleted: true } as WorkerNotice;
  write(notice);
  expect(passed).toEqual([[id, notice]]);
});

it('an error while a notice is written, or in a change that is not awaited, is logged', async () => {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  guarded('s', log, () => {
    throw new Error('the disk is full');
  });
  const failing = Promise.reject(new Error('it broke'));
  inBackground('s', log, failing);
  await failing.catch(() => undefined);
  expect(lines).toEqual([
    'sandbox s: what its worker reported could not be written: Error: the disk is full',
    'sandbox s: Error: it broke',
  ]);
});
