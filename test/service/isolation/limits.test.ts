import { totalmem } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseLimits } from '../../../src/service/isolation/limits.ts';
import { startSandbox } from '../../commands/sandbox/support.ts';
import { describeEachSpec, hasBubblewrap } from '../../support/bubblewrap.ts';
import { createWorld, type World } from '../../support/world.ts';

const ASKED = { sandboxMemory: 512 * 2 ** 20, sandboxProcesses: 64 };
const { limits } = await chooseLimits(ASKED, process.env, hasBubblewrap);

/** Starts programs until one cannot be started, or 200; prints how many, why, and ends them. */
const FORK_BOMB = `
  const children = [], fail = (error) => { console.log(children.length < 64, error.code); end(); };
  const end = () => { for (const child of children) child.kill(); };
  const next = () => {
    if (children.length === 200) return end(console.log('no limit'));
    const child = require('child_process').spawn('sleep', ['600'], { stdio: 'ignore' });
    child.once('error', fail).once('spawn', () => { children.push(child); next(); });
  };
  next();`;

/** A sandbox of the spec for the enclosing suite, with these limits. */
function useSandbox(spec: 'bubblewrap' | 'process') {
  let world: World;
  let id: string;
  beforeAll(async () => {
    world = await createWorld({ api: 'v1', spec, limits: ASKED });
    id = await startSandbox(world);
  });
  afterAll(() => world.close());
  const exec = (...argv: string[]) => world.acs('sandbox', 'exec', id, '--', ...argv);
  const answers = async () =>
    expect(await exec('echo', 'here')).toMatchObject({ code: 0, out: 'here\n' });
  return { exec, answers };
}

describeEachSpec('a program in a sandbox of the spec %s', (spec) => {
  const { exec, answers } = useSandbox(spec === 'process' ? spec : 'bubblewrap');

  it.runIf(limits.memory !== null)(
    'that needs more memory than the limit fails alone',
    async () => {
      const allocate = (mib: number) =>
        exec('node', '-e', `console.log(Buffer.alloc(${mib} << 20, 1).length >> 20)`);
      expect(await allocate(600)).toMatchObject({
        code: 1,
        err: expect.stringContaining('allocation failed') as string,
      });
      expect(await allocate(100)).toMatchObject({ code: 0, out: '100\n' });
      await answers();
    },
  );
});

describe.runIf(hasBubblewrap)('a sandbox with bubblewrap', () => {
  const { exec, answers } = useSandbox('bubblewrap');

  it.runIf(limits.processes !== null)(
    'starts no more processes than the limit, and answers afterwards',
    async () => {
      expect(await exec('node', '-e', FORK_BOMB)).toMatchObject({ code: 0, out: 'true EAGAIN\n' });
      await answers();
    },
  );

  it.runIf(limits.temporary !== null).each([
    ['/home/agent', 256],
    ['/tmp', 128],
    ['/var/tmp', 64],
    ['/dev/shm', 32],
    ['/dev', 0],
  ])('holds in %s at most %i MiB, and answers when it is full', async (folder, mib) => {
    const { code, err } = await exec(
      'dd',
      'if=/dev/zero',
      `of=${folder}/large`,
      'bs=1M',
      'count=600',
    );
    expect(code).toBe(1);
    expect(err).toMatch(mib === 0 ? /Read-only file system/ : /No space left on device/);
    if (mib > 0)
      expect(Number((await exec('stat', '-c', '%s', `${folder}/large`)).out) / 2 ** 20).toBeCloseTo(
        mib,
        0,
      );
    await answers();
  });
});

describe('the limits of a service', () => {
  it.runIf(limits.memory !== null)(
    'are half of the memory and 4096 processes; 0 removes one',
    async () => {
      const byDefault = await chooseLimits({}, process.env, hasBubblewrap);
      expect(byDefault.limits).toMatchObject({ memory: Math.floor(totalmem() / 2) });
      expect([4096, null]).toContain(byDefault.limits.processes);
      const none = await chooseLimits(
        { sandboxMemory: 0, sandboxProcesses: 0 },
        process.env,
        hasBubblewrap,
      );
      expect(none).toEqual({
        limits: { memory: null, processes: null, temporary: null },
        missing: [],
      });
    },
  );

  it.each([
    [true, 'bubblewrap is older than 0.5'],
    [false, 'bubblewrap does not work'],
  ])('that cannot be set are none, with the reason (bubblewrap: %s)', async (isolates, why) => {
    const chosen = await chooseLimits(ASKED, { PATH: '/nowhere' }, isolates);
    expect(chosen.limits).toEqual({ memory: null, processes: null, temporary: null });
    expect(chosen.missing).toEqual([
      expect.stringMatching(/^memory \(prlimit/),
      expect.stringMatching(/^processes \(/),
      `temporary files (${why})`,
    ]);
  });
});
