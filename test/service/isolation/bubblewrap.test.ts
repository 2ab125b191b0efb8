import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bubblewrapPlan, hiddenFolders } from '../../../src/service/isolation/bubblewrap.ts';
import { sandboxOfTest } from '../agent-server/support/sandbox-of-test.ts';
import { eventsOf, outputs, startConversation, step, untilStatus } from '../agent-server/support/worker.ts';
import { hasBubblewrap } from '../../support/bubblewrap.ts';

const sandbox = sandboxOfTest();

describe('the hidden folders', () => {
  it('are the home and the whole data directory, also by their real paths', () => {
    const events = path.join(sandbox.place.dir, 'data', 'events', 'sandbox');
    const home = path.join(sandbox.place.dir, 'home');
    mkdirSync(events, { recursive: true });
    mkdirSync(path.join(sandbox.place.dir, 'real'));
    symlinkSync('real', home);
    const real = realpathSync(sandbox.place.dir);
    expect(hiddenFolders(events, home)).toEqual([home, path.join(real, 'real'), path.join(real, 'data')]);
  });

  it('are covered where a system folder contains them', () => {
    const { options } = bubblewrapPlan({
      workspaceDir: sandbox.place.workspace,
      dist: sandbox.place.dir,
      node: process.execPath,
      offline: false,
      hidden: ['/usr/lib', sandbox.place.dir],
    });
    expect(options[options.indexOf('/usr/lib') - 1]).toBe('--tmpfs');
    expect(options.slice(0, options.indexOf('/usr/lib'))).toContain('/usr');
  });
});

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  const spec = 'bubblewrap';

  it('cannot write a kernel setting, whichever user runs the service', async () => {
    const worker = await sandbox.start({ spec });
    const files = '/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/swappiness';
    await startConversation(worker, [
      step.run(`for f in ${files}; do test -w $f && echo open $f; done; echo looked`),
      step.finish(),
    ]);
    await untilStatus(worker, 'finished');
    expect(outputs(await eventsOf(worker))).toEqual(['looked']);
  });
});
