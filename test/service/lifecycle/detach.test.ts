import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensureLocalService, serviceStatus } from '../../../src/service/index.ts';
import { startDetached } from '../../../src/service/lifecycle/detach.ts';
import { prepareDataDir } from '../../../src/service/lifecycle/data-dir.ts';
import { isAlive } from '../../../src/service/lifecycle/process.ts';
import { dataPaths } from '../../../src/service/lifecycle/paths.ts';
import { until } from '../app/support.ts';
import { NO_DATABASE, servicesOfEachTest } from './support.ts';

const services = servicesOfEachTest();

/** A package whose service is this script. */
function packageWith(script: string): string {
  const root = path.join(services.dir, 'package');
  mkdirSync(path.join(root, 'dist'), { recursive: true });
  writeFileSync(path.join(root, 'dist', 'service.js'), script);
  return root;
}

describe('a service in the background', () => {
  it('reports why it cannot start', async () => {
    await (await services.start()).close();
    writeFileSync(path.join(services.dataDir, 'service.db'), NO_DATABASE);
    await expect(ensureLocalService(services.options())).rejects.toMatchObject({
      name: 'ServiceError',
      code: 'data-dir',
    });
  });
});

describe('a background process that does not become a service', () => {
  it.each([
    ['ends without a reason', 'process.exit(7)', 'it ended with exit code 7'],
    ['is killed', "process.kill(process.pid, 'SIGKILL')", 'it ended by signal SIGKILL'],
  ])('and %s is reported with its log', async (_what, script, why) => {
    const { log } = dataPaths(services.dataDir);
    await expect(startDetached(services.options({ root: packageWith(script) }))).rejects.toMatchObject({
      code: 'start-failed',
      message: `the local service did not start: ${why}`,
      hint: `See ${log}.`,
    });
  });

  it('and writes a reason is reported with that reason, and not with one of an earlier start', async () => {
    const fail = (message: string): string =>
      packageWith(
        `console.log('x acs-service-failure: ' + '{"code":"listen","message":"${message}"}'); process.exit(1)`,
      );
    for (const message of ['the first', 'the second']) {
      const starting = startDetached(services.options({ root: fail(message) }));
      await expect(starting).rejects.toMatchObject({ code: 'listen', message });
    }
  });

  it('is killed when the caller gives up, with the reason of the signal', async () => {
    const file = path.join(services.dir, 'pid');
    const root = packageWith(
      `require('node:fs').writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000);`,
    );
    const gaveUp = new AbortController();
    const starting = startDetached({ ...services.options({ root }), signal: gaveUp.signal });
    const caught = expect(starting).rejects.toThrow('given up');
    const pid = await until(
      () => (existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0),
      (each) => each > 0,
    );
    gaveUp.abort(new Error('given up'));
    await caught;
    await until(
      () => isAlive({ pid, start: null }),
      (lives) => !lives,
    );
  });
});

describe('the log of a background service', () => {
  it('is private, and a large one is put aside', async () => {
    const { log } = dataPaths(services.dataDir);
    prepareDataDir(services.dataDir);
    writeFileSync(log, 'of before');
    truncateSync(log, 5 * 1024 * 1024 + 1);
    const start = () =>
      startDetached(services.options({ root: packageWith("console.log('a line'); process.exit(1)") }));
    await expect(start()).rejects.toThrow();
    await expect(start()).rejects.toThrow();
    expect(readFileSync(log, 'utf8')).toBe('a line\na line\n');
    expect(statSync(log).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${log}.old`).subarray(0, 9).toString()).toBe('of before');
    expect(serviceStatus(services.dataDir).running).toBe(false);
  });
});
