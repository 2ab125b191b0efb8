import { describe, expect, it } from 'vitest';
import { newSandbox } from '../../../src/service/sandboxes/new-sandbox.ts';
import { createSandboxStatusWriter } from '../../../src/service/sandboxes/status-writer.ts';
import { openDatabase, type Sql } from '../../../src/service/storage/database.ts';
import { createSandboxStore } from '../../../src/service/storage/sandboxes.ts';
import { until } from '../app/support.ts';
import { storeOfEachTest } from './support.ts';

const db = storeOfEachTest();

it('the status of a sandbox is effective at once and written as soon as the disk has space', async () => {
  const file = db.file;
  const sql = openDatabase(file);
  const disk = { isFull: false };
  const run: Sql['run'] = (...given) => {
    if (disk.isFull) throw new Error('database or disk is full');
    return sql.run(...given);
  };
  const sandboxes = createSandboxStore({ ...sql, run });
  const row = newSandbox('process', '2026-01-01T00:00:00.000000Z');
  sandboxes.insert(row);
  const statuses = createSandboxStatusWriter(sandboxes, () => undefined);
  disk.isFull = true;
  statuses.write(row.id, { status: 'RUNNING', port: 1234 });
  statuses.write(row.id, { status: 'PAUSED' });
  expect(sandboxes.get(row.id)).toMatchObject({ status: 'PAUSED', port: 1234 });
  expect(sandboxes.all()).toMatchObject([{ status: 'PAUSED' }]);
  expect(sandboxes.page(10, 0)).toMatchObject([{ status: 'PAUSED' }]);
  expect(() => sandboxes.update(row.id, { status: 'STARTING' })).toThrow(/full/);
  expect(sandboxes.get(row.id)?.status).toBe('PAUSED');
  disk.isFull = false;
  await until(
    () => sql.get<{ status: string; port: number }>('SELECT status, port FROM sandboxes'),
    (stored) => stored?.status === 'PAUSED' && stored.port === 1234,
  );
  statuses.close();
  sql.close();
});

describe('the store of sandboxes', () => {
  const stamp = (second: number): string => `2026-01-01T00:00:0${second}.000000Z`;

  it('lists the newest first, and pages through them', () => {
    const { sandboxes } = db.store;
    const rows = [1, 2, 3].map((second) => newSandbox('process', stamp(second)));
    for (const row of rows) sandboxes.insert(row);
    const [first, second, third] = rows;
    expect(sandboxes.page(2, 0)).toEqual([third, second]);
    expect(sandboxes.page(2, 2)).toEqual([first]);
    expect(sandboxes.all()).toEqual([first, second, third]);
  });

  it('changes only the members that are given, and never the isolation', () => {
    const { sandboxes } = db.store;
    const row = newSandbox('process', stamp(1));
    sandboxes.insert(row);
    sandboxes.update(row.id, {});
    sandboxes.update(row.id, { port: 1234, status_detail: 'why' });
    sandboxes.update(row.id, { status_detail: null, isolation: 'bubblewrap' } as object);
    expect(sandboxes.get(row.id)).toEqual({ ...row, port: 1234, status_detail: null });
  });

  it('forgets what could not be written about a sandbox that is removed', () => {
    const sql = openDatabase(db.file);
    const run: Sql['run'] = (statement, ...values) => {
      if (statement.startsWith('UPDATE')) throw new Error('database or disk is full');
      return sql.run(statement, ...values);
    };
    const sandboxes = createSandboxStore({ ...sql, run });
    const row = newSandbox('process', stamp(1));
    sandboxes.insert(row);
    expect(sandboxes.updateOrKeep(row.id, { status: 'ERROR' })).toMatchObject({
      message: expect.stringMatching(/full/),
    });
    expect(sandboxes.get(row.id)?.status).toBe('ERROR');
    expect(() => {
      sandboxes.settle();
    }).toThrow(/full/);
    expect(sandboxes.remove(row.id)).toBe(true);
    expect(sandboxes.remove(row.id)).toBe(false);
    sandboxes.insert(row);
    expect(sandboxes.get(row.id)).toEqual(row);
    sandboxes.settle();
    sql.close();
  });
});
