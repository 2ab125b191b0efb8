/** Data directories that were copied or restored. */
import Database from 'libsql';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  askActivity,
  ensureLocalService,
  runningService,
  stopService,
} from '../../../src/service/index.ts';
import { isAlive } from '../../../src/base/process.ts';
import { conversation, startedTask, trajectory, until, untilShown } from '../app/support.ts';
import { clientOf, servicesOfEachTest } from './support.ts';
import { TO_VERSION_5 } from '../storage/support.ts';

const services = servicesOfEachTest();
const inCopy = (...names: string[]): string => path.join(services.dir, 'copy', ...names);
const inData = (...names: string[]): string => path.join(services.dataDir, ...names);

/** The ids of a conversation that has ended, and of its sandbox. */
async function ended(
  client: ReturnType<typeof clientOf>,
): Promise<{ id: string; sandbox: string }> {
  const task = await startedTask(client, { replay_json: 'demo' });
  const id = task.app_conversation_id ?? '';
  await untilShown(client, id, { execution_status: 'finished' });
  return { id, sandbox: task.sandbox_id ?? '' };
}

const unknownIn = async (dataDir: string) => {
  const running = runningService(dataDir);
  return running && (await askActivity(running))?.unknown_workspaces;
};

describe('a service whose store lacks sandboxes', () => {
  it('does not start beside logs with an empty, missing or new store, and changes nothing', async () => {
    const service = await services.start();
    const { sandbox, id } = await ended(clientOf(service));
    await service.close();
    const file = inData('service.db');
    for (const damage of [(name: string) => writeFileSync(name, ''), rmSync, withoutTables]) {
      damage(file);
      const read = () => (existsSync(file) ? readFileSync(file) : null);
      const before = read();
      await expect(services.start()).rejects.toMatchObject({
        code: 'data-dir',
        message: expect.stringContaining(file),
        hint: expect.stringContaining('Restore'),
      });
      expect(read()).toEqual(before);
    }
    const kept = [inData('workspaces', sandbox, '.git'), inData('events', sandbox, `${id}.db`)];
    expect(kept.map((each) => existsSync(each))).toEqual([true, true]);
  });

  it('keeps and names the workspaces that are only in the -wal of the original', async () => {
    const service = await services.start();
    const known = await ended(clientOf(service));
    await clientOf(service).call('POST', '/api/settings', { language: 'de' }); // empties the -wal
    const unknown = await ended(clientOf(service));
    cpSync(services.dataDir, inCopy(), { recursive: true });
    for (const suffix of ['-wal', '-shm']) rmSync(inCopy(`service.db${suffix}`));
    await services.start({ dataDir: inCopy() });
    expect(await unknownIn(inCopy())).toEqual([inCopy('workspaces', unknown.sandbox)]);
    for (const { sandbox } of [known, unknown])
      expect(existsSync(inCopy('workspaces', sandbox, '.git'))).toBe(true);
  });

  it('keeps and names the workspaces that are newer than a restored store', async () => {
    const first = await services.start();
    await ended(clientOf(first));
    await first.close();
    cpSync(inData('service.db'), inCopy());
    const second = await services.start();
    const { sandbox } = await ended(clientOf(second));
    expect(await unknownIn(services.dataDir)).toEqual([]);
    await second.close();
    cpSync(inCopy(), inData('service.db'));
    await services.start();
    expect(await unknownIn(services.dataDir)).toEqual([inData('workspaces', sandbox)]);
    expect(existsSync(inData('workspaces', sandbox, '.git'))).toBe(true);
  });
});

it('a service opens the store of the schema before, and loses nothing of it', async () => {
  const first = await services.start();
  const { id, sandbox } = await ended(clientOf(first));
  await first.close();
  const older = new Database(inData('service.db'));
  older.exec(
    'CREATE TABLE pending_messages (body TEXT); INSERT INTO pending_messages VALUES ' +
      "('not sent yet')",
  );
  older.exec(
    `${TO_VERSION_5} ALTER TABLE sandboxes DROP COLUMN fell_back; PRAGMA user_version = 3`,
  );
  older.close();
  const second = await services.start();
  expect(await conversation(clientOf(second), id)).toMatchObject({
    id,
    execution_status: 'finished',
  });
  expect(await unknownIn(services.dataDir)).toEqual([]);
  expect(existsSync(inData('workspaces', sandbox, '.git'))).toBe(true);
  await second.close();
  const now = new Database(inData('service.db'));
  expect(now.prepare('SELECT body FROM pending_messages').all()).toEqual([
    { body: 'not sent yet' },
  ]);
  now.close();
});

it('a service on a copy of a data directory leaves the service and the sandboxes of the original alone', async () => {
  const original = await ensureLocalService(services.options());
  const client = clientOf(original);
  const file = path.join(services.dir, 'pid');
  const command =
    `(setsid sh -c 'echo $$ > ${file}.new; mv ${file}.new ${file}; exec sleep 4321' &); ` +
    'sleep 4321';
  const task = await startedTask(client, { replay_json: trajectory(command) });
  await until(() => existsSync(file));
  const daemon = { pid: Number(readFileSync(file, 'utf8')), start: null };
  cpSync(services.dataDir, inCopy(), { recursive: true });
  expect(await stopService(inCopy())).toEqual({ stopped: false, pid: null });
  const copy = clientOf(await services.start({ dataDir: inCopy() }));
  const [id, sandbox] = [task.app_conversation_id ?? '', task.sandbox_id ?? ''];
  expect(await conversation(copy, id)).toMatchObject({
    sandbox_status: 'PAUSED',
    execution_status: 'paused',
  });
  await copy.call('POST', `/api/v1/sandboxes/${sandbox}/resume`);
  await untilShown(copy, id, { sandbox_status: 'RUNNING' });
  expect(await conversation(client, id)).toMatchObject({
    sandbox_status: 'RUNNING',
    execution_status: 'running',
  });
  expect(isAlive(daemon)).toBe(true);
});

/** As in a copy without its -wal. */
function withoutTables(file: string): void {
  const database = new Database(inCopy());
  database.exec('PRAGMA journal_mode = WAL');
  database.close();
  cpSync(inCopy(), file);
}
