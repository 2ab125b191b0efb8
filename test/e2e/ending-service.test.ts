/**
 * The local service ends between the moment at which a command finds it and the first request of
 * the command.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dataPaths } from '../../src/service/lifecycle/data-dir.ts';
import { isHeld, takeLock } from '../../src/base/lock.ts';
import { selfIdentity } from '../../src/base/process.ts';
import { startRaw } from '../support/server.ts';
import { start, type Start } from './processes.ts';

let dir: string;
let place: Start;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-e2e-'));
  const env = {
    PATH: process.env.PATH,
    HOME: dir,
    ACS_PROFILE: 'local',
    ACS_DATA_DIR: path.join(dir, 'data'),
  };
  place = { cwd: dir, env };
});
afterEach(async () => {
  await start(['serve', '--stop'], place).ended;
  await rm(dir, { recursive: true, force: true });
});

/** Takes the place of a service, and ends with the first connection, without an answer. */
async function endingService(): Promise<void> {
  await start(['serve', '--detach'], place).ended;
  const paths = dataPaths(path.join(dir, 'data'));
  const state = JSON.parse(await readFile(paths.state, 'utf8')) as { port: number };
  await start(['serve', '--stop'], place).ended;
  const { pid, start: process_start } = selfIdentity();
  await writeFile(paths.state, JSON.stringify({ ...state, pid, process_start }));
  const lock = takeLock(paths.lock);
  const server = await startRaw((socket) => {
    server.stop();
    void rm(paths.state).then(() => {
      if (isHeld(lock)) lock.release();
      socket.destroy();
    });
  }, state.port);
}

it.each(['conv list --json', 'sandbox start --no-wait -q'])(
  '%s starts the service again, and a create is carried out once',
  async (line) => {
    await endingService();
    const { code, err } = await start(line.split(' '), place).ended;
    expect(code, err).toBe(0);
    const { out } = await start(['sandbox', 'list', '--json'], place).ended;
    expect((JSON.parse(out) as { items: unknown[] }).items).toHaveLength(
      line.startsWith('sandbox') ? 1 : 0,
    );
  },
);
