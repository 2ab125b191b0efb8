import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runningService, serviceStatus, stopService } from '../../../src/service/index.ts';
import { PACKAGE_ROOT, until } from '../app/support.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-terminal-'));
});
afterEach(async () => {
  const dataDir = path.join(dir, 'data');
  if (serviceStatus(dataDir).running) await stopService(dataDir);
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
});

// What makes a terminal here is util-linux's program of that name; others take other options.
const hasScript = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

it.runIf(hasScript)('a service whose terminal closes shuts down with the exit code of SIGHUP', async () => {
  const dataDir = path.join(dir, 'data');
  const code = path.join(dir, 'code');
  // The system sends the signal only to the shell, the leader of the session. Its first wait ends with the signal.
  const serve = `'${process.execPath}' '${PACKAGE_ROOT}/bin/acs.cjs' serve`;
  const command = `trap 'kill -HUP $pid' HUP; ${serve} & pid=$!; wait $pid; wait $pid; echo $? > '${code}'`;
  const terminal = spawn('script', ['-qfc', command, '/dev/null'], {
    env: { PATH: process.env.PATH, HOME: dir, SHELL: '/bin/sh', TERM: 'dumb', ACS_DATA_DIR: dataDir },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  await until(
    () => runningService(dataDir) !== null,
    (is) => is,
  );
  terminal.kill('SIGKILL');
  const text = await until(
    () => {
      try {
        return readFileSync(code, 'utf8');
      } catch {
        return '';
      }
    },
    (each) => each !== '',
  );
  expect(text).toBe('129\n');
  expect(serviceStatus(dataDir).running).toBe(false);
});
