import path from 'node:path';
import { expect, it } from 'vitest';
import { createSandboxStatusWriter } from '../../../src/service/sandboxes/status-writer.ts';
import { openDatabase, type Sql } from '../../../src/service/storage/database.ts';
import { createSandboxStore } from '../../../src/service/storage/sandboxes.ts';
import { until } from '../../support/until.ts';
import { storeOfTest } from './support.ts';

const test = storeOfTest();

/** A second way into the store of the test, on a disk that can be full. */
function onLimitedDisk() {
  const sql = openDatabase(path.join(test.dir, 'service.db'));
  const disk = { isFull: false };
  const run: Sql['run'] = (...given) => {
    if (disk.isFull) throw new Error('database or disk is full');
    return sql.run(...given);
  };
  const lines: string[] = [];
  const sandboxes = createSandboxStore({ ...sql, run });
  return { disk, lines, sandboxes, sql, statuses: createSandboxStatusWriter(sandboxes, (line) => lines.push(line)) };
}

it('a status is logged when it cannot be written, and once more when it is written', async () => {
  const { id } = test.add();
  const { disk, lines, sql, statuses } = onLimitedDisk();
  disk.isFull = true;
  statuses.write(id, { status: 'PAUSED' });
  expect(lines).toEqual([expect.stringMatching(`sandbox ${id}: .* kept in memory .*disk is full`)]);
  expect(test.store.sandboxes.get(id)?.status).toBe('RUNNING');
  disk.isFull = false;
  await until(() => lines.length === 2);
  expect(test.store.sandboxes.get(id)?.status).toBe('PAUSED');
  statuses.close();
  expect(lines).toHaveLength(2);
  sql.close();
});

it('close writes what is pending at once', () => {
  const { id } = test.add();
  const { disk, sql, statuses } = onLimitedDisk();
  disk.isFull = true;
  statuses.write(id, { status: 'ERROR' });
  disk.isFull = false;
  statuses.close();
  expect(test.store.sandboxes.get(id)?.status).toBe('ERROR');
  sql.close();
});
