import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { selectProcesses } from '../../../../src/service/isolation/processes.ts';
import { sandboxOfTest } from '../../agent-server/support/sandbox-of-test.ts';
import { stateOf, until } from '../../agent-server/support/worker.ts';

const sandbox = sandboxOfTest();

it('a helper that was killed leaves no temporary folder', async () => {
  const worker = await sandbox.start({ spec: 'process' });
  const left = (): string[] =>
    readdirSync(tmpdir()).filter((name) => name.startsWith(`acs-shell-${sandbox.place.sandboxId}-`));
  const command = { command: 'kill -STOP $PPID; sleep 60', timeout: 60 };
  const cut = worker.call('POST', '/api/bash/execute_bash_command', command).catch(() => null);
  await until('the folder', () => left().length === 1);
  await until('the helper to stand still', () =>
    selectProcesses({ below: null, marked: `ACS_SANDBOX_ID=${sandbox.place.sandboxId}`, except: [] }).some(
      (pid) => stateOf(pid) === 'T',
    ),
  );
  await worker.end();
  await cut;
  expect(left()).toEqual([]);
});
