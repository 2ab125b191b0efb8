import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { SandboxSpecName } from '../../../src/service/base/worker-protocol.ts';
import {
  processesOf,
  statesOf,
  ID,
  outputs,
  type OwnWorker,
  startOwnWorker,
  step,
  until,
} from './support/worker.ts';
import { describeEachSpec, hasBubblewrap } from '../../support/bubblewrap.ts';

/** A test with a worker of its own: these run beside each other, because they wait for seconds. */
const withWorker =
  (spec: SandboxSpecName, run: (worker: OwnWorker) => Promise<void>) => async (): Promise<void> => {
    const worker = await startOwnWorker({ spec });
    try {
      await run(worker);
    } finally {
      await worker.close();
    }
  };

/** Whether the command has stopped the helper. */
const isHelperStopped = ({ place }: OwnWorker): boolean => statesOf(place).includes('T');

describe.concurrent('limits', () => {
  describeEachSpec('with %s', (spec) => {
    it(
      'a command that was paused longer than its timeout still has its time',
      withWorker(spec, async (worker) => {
        const { workspace } = worker.place;
        await worker.startConversation([
          step.run('echo x > began; while ! test -e go; do sleep 0.02; done; echo made it', {
            timeout_seconds: 4,
          }),
          step.finish(),
        ]);
        await until('the command runs', () => existsSync(path.join(workspace, 'began')));
        await worker.command('pause');
        await promisify(execFile)('sleep', ['5']);
        writeFileSync(path.join(workspace, 'go'), '');
        await worker.command('resume');
        await worker.untilStatus('finished');
        expect(outputs(await worker.events())).toEqual(['made it']);
      }),
    );

    it(
      'a command that stops the helper is ended at its timeout, and the run continues',
      withWorker(spec, async (worker) => {
        await worker.play([
          step.run('kill -STOP $PPID; sleep 1000', { timeout_seconds: 1 }),
          step.run('echo back'),
          step.finish(),
        ]);
        const [stopped, next] = (await worker.events()).filter(
          (event) => event.kind === 'ObservationEvent',
        );
        expect(stopped).toMatchObject({ observation: { exit_code: -1, timeout: true } });
        expect(next).toMatchObject({ observation: { exit_code: 0, content: [{ text: 'back' }] } });
      }),
    );

    it.each(['a command', 'an edit'])(
      'the interrupt of %s ends although the helper is stopped',
      (what) =>
        withWorker(spec, async (worker) => {
          const stop = 'kill -STOP $PPID';
          const steps =
            what === 'a command'
              ? [step.run(`${stop}; sleep 1000`)]
              : [
                  step.run(
                    `(setsid sh -c 'while ! test -e go; do :; done; kill -STOP '$PPID > ` +
                      '/dev/null 2>&1 &)',
                  ),
                ];
          const edits = Array.from({ length: what === 'an edit' ? 5000 : 0 }, (_, at) =>
            step.create('go', `${at}\n`),
          );
          await worker.startConversation([...steps, ...edits, step.finish()]);
          await until('the helper is stopped', () => isHelperStopped(worker));
          await worker.call('POST', `/api/conversations/${ID}/interrupt`);
          expect(await worker.status()).toBe('paused');
        })(),
    );

    it(
      'a stopped helper keeps neither pause nor stop from ending',
      withWorker(spec, async (worker) => {
        await worker.startConversation([step.run('kill -STOP $PPID; sleep 1000'), step.finish()]);
        await until('the helper is stopped', () => isHelperStopped(worker));
        expect((await worker.command('pause')).type).toBe('paused');
        expect((await worker.command('resume')).type).toBe('resumed');
        expect((await worker.command('stop')).type).toBe('stopped');
        await until('all processes end', () => processesOf(worker.place).length === 0);
      }),
    );
  });
});

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  it('that was isolated is never resumed without isolation', async () => {
    const programs = mkdtempSync(path.join(tmpdir(), 'acs-programs-'));
    const program = path.join(programs, 'bwrap');
    const bwrap = execFileSync('which', ['bwrap'], { encoding: 'utf8' }).trim();
    symlinkSync(bwrap, program);
    for (const name of ['unshare', 'sh'])
      symlinkSync(`/usr/bin/${name}`, path.join(programs, name));
    const worker = await startOwnWorker({ spec: 'bubblewrap', env: { PATH: programs } });
    try {
      const run = (command: string) =>
        worker.call('POST', '/api/bash/execute_bash_command', { command, timeout: 10 });
      rmSync(program);
      await run('kill -9 2 $PPID').catch(() => undefined);
      const refused = await until('an answer without isolation', async () => {
        const answer = await run('touch outside');
        return answer.status === 503 ? answer : null;
      });
      expect(refused.body).toMatchObject({
        detail: expect.stringContaining('cannot be isolated: bubblewrap (bwrap) is not installed'),
      });
      symlinkSync(bwrap, program);
      expect((await run('pwd')).body).toMatchObject({
        exit_code: 0,
        stdout: '/workspace/project\n',
      });
    } finally {
      await worker.close();
      rmSync(programs, { recursive: true });
    }
  });
});
