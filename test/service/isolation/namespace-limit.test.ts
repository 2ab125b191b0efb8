import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { sandboxOfTest } from '../agent-server/support/sandbox-of-test.ts';
import {
  eventsOf,
  makePlace,
  outputs,
  removePlace,
  startConversation,
  startTestWorker,
  step,
  until,
  untilStatus,
} from '../agent-server/support/worker.ts';
import { hasBubblewrap, readOnlySettings } from '../../support/bubblewrap.ts';

const sandbox = sandboxOfTest();

describe.runIf(hasBubblewrap)('a sandbox of the spec bubblewrap', () => {
  const spec = 'bubblewrap';

  it.each(['writable', 'read-only'])(
    'has at most 64 namespaces of each kind where /proc/sys is %s',
    async (settings) => {
      const programs = path.join(sandbox.place.dir, 'programs');
      mkdirSync(programs);
      const PATH = readOnlySettings(programs, { elsewhere: true });
      const worker = await sandbox.start(settings === 'writable' ? { spec } : { spec, env: { PATH } });
      const count = (flags: string, more = ''): string =>
        `${more}made=0; pids=; for i in $(seq 80); do mkfifo held$i; unshare ${flags} sh -c "echo up; read x < held$i" > up$i 2>/dev/null & ` +
        'pids="$pids $!"; done; ' +
        'for i in $(seq 80); do while kill -0 $(echo $pids | cut -d" " -f$i) 2>/dev/null && ! test -s up$i; do sleep 0.01; done; test -s up$i && made=$((made + 1)); done; ' +
        'kill $pids 2>/dev/null; wait 2>/dev/null; rm -f held* up*; echo $made';
      const raise = 'echo 9999 > /proc/sys/user/max_user_namespaces';
      await startConversation(worker, [
        step.run(count('--user')),
        step.run(`${raise} 2>&1 | grep -c denied; unshare -Ur sh -c '${raise}' 2>/dev/null`),
        step.run(count('--user')),
        step.run(count('--user --map-root-user --net')),
        step.run('grep CapEff /proc/self/status; id -u'),
        step.finish(),
      ]);
      await untilStatus(worker, 'finished');
      const [first, , again, nets, rights] = outputs(await eventsOf(worker));
      // bubblewrap itself has one, or two where it runs for another user than root.
      expect(Number(first)).toBeGreaterThanOrEqual(62);
      expect(Number(first)).toBeLessThan(64);
      expect(again).toBe(first);
      expect(Number(nets)).toBeLessThan(64);
      expect(rights).toBe(`CapEff:\t0000000000000000\n${String(process.getuid?.())}`);
    },
  );

  it('that has used up its namespaces does not prevent the isolation of another', async () => {
    const worker = await sandbox.start({ spec });
    await startConversation(worker, [
      step.run('for i in $(seq 200); do unshare --user sleep 300 & done 2>/dev/null; echo x > held; wait'),
      step.finish(),
    ]);
    await until('the namespaces are used up', () => existsSync(path.join(sandbox.place.workspace, 'held')));
    const other = makePlace();
    try {
      const next = await startTestWorker(other, { spec });
      expect(next.workingDir).toBe('/workspace/project');
      await next.end();
    } finally {
      removePlace(other);
    }
  });
});
