import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Clock, clockFrom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { GRACE_MS } from '../../../src/runs/deadline.ts';
import { PACKAGE_ROOT } from '../../support/world.ts';
import { ID, put, tree, useCopyWorld } from './support.ts';

const at = useCopyWorld();

describe('sandbox cp, when it does not come to its end,', () => {
  const real = clockFrom(() => Date.now());
  /**
   * On a busy machine the removal of temporary files takes longer than the limit of the command.
   */
  const clock: Clock = {
    ...real,
    sleep: (ms, signal) => real.sleep(ms >= GRACE_MS ? 100 * ms : ms, signal),
  };
  const MOMENTS = 10;
  const LARGE = Buffer.alloc(400_000, 'large');

  /** What is there besides the sources: nothing, or the whole copy. */
  const found = (root: string) =>
    readdirSync(root).filter((name) => !['up', 'down'].includes(name));

  beforeEach(() => {
    for (const root of [at.here, at.box]) {
      const source = root === at.here ? 'up' : 'down';
      put(root, { [`${source}/one`]: 'x', [`${source}/sub/two`]: 'y' });
      writeFileSync(path.join(root, source, 'sub/large'), LARGE);
    }
  });

  it.each(['up', 'down'] as const)(
    'leaves nothing or all of it, and no temporary file: interrupted at ten moments of the way %s',
    async (way) => {
      const root = way === 'up' ? at.box : at.here;
      const args = way === 'up' ? ['up', `${ID}:copy`] : [`${ID}:down`, 'copy'];
      const source = path.join(way === 'up' ? at.here : at.box, way);
      for (let moment = 0; moment < MOMENTS; moment++) {
        let requests = 0;
        let bytes = 0;
        let isUploaded = false;
        let isPlacing = false;
        const abort = new AbortController();
        const interrupt = () =>
          abort.abort(new AppError('interrupted', 'interrupted by SIGINT', { exitCode: 130 }));
        // The first half at each request, the second between parts of the file.
        at.agent.fault = ({ url = '' }) => {
          isPlacing ||=
            isUploaded && !abort.signal.aborted && url.includes('/api/bash/start_bash_command');
          isUploaded ||= url.includes('/api/file/upload');
          if (moment < MOMENTS / 2 && requests++ === moment) interrupt();
          return false;
        };
        at.agent.onBytes = (direction, count) => {
          bytes += direction === way ? count : 0;
          if (
            moment >= MOMENTS / 2 &&
            bytes > ((moment - MOMENTS / 2) * LARGE.length) / (MOMENTS / 2)
          )
            interrupt();
        };
        const { code } = await at.run({ args, signal: abort.signal, clock });
        await at.agent.commandsEnded();
        at.agent.fault = () => false;
        at.agent.onBytes = () => undefined;
        const there = found(root);
        expect({ moment, code: [0, 130].includes(code), there }).toEqual({
          moment,
          code: true,
          // A command of the sandbox that has begun to place the copy may come to its end.
          there: code === 0 || (isPlacing && there.length > 0) ? ['copy'] : [],
        });
        if (there.length > 0) expect(tree(path.join(root, 'copy'))).toEqual(tree(source));
        expect(at.agent.temporary()).toEqual([]);
        rmSync(path.join(root, 'copy'), { recursive: true, force: true });
      }
    },
  );

  it.each(['up', 'down'] as const)(
    'exits 10 and leaves nothing when the connection is cut on the way %s',
    async (way) => {
      const root = way === 'up' ? at.box : at.here;
      const isTransfer = (url = '') =>
        url.includes(`/api/file/${way === 'up' ? 'upload' : 'download?path=%2Ft'}`);
      at.agent.fault = (request, response) => {
        if (!isTransfer(request.url)) return false;
        if (way === 'up') request.once('data', () => request.socket.destroy());
        else {
          response.writeHead(200, { 'content-length': 1_000_000 });
          response.write(Buffer.alloc(LARGE.length), () => response.destroy());
        }
        return true;
      };
      for (const name of way === 'up' ? ['up', 'up/sub/large'] : ['down', 'down/sub/large']) {
        const args = way === 'up' ? [name, `${ID}:copy`] : [`${ID}:${name}`, 'copy'];
        expect({ name, code: (await at.cp(...args)).code, there: found(root) }).toEqual({
          name,
          code: 10,
          there: [],
        });
      }
      expect(at.agent.temporary()).toEqual([]);
    },
  );

  it('exits 3 and leaves nothing when the disk is full, or the file grows beyond a limit', async () => {
    const args = [
      '--fsize=100000',
      process.execPath,
      path.join(PACKAGE_ROOT, 'bin/acs.cjs'),
      'sandbox',
      'cp',
    ];
    const env = at.server.env as NodeJS.ProcessEnv;
    for (const name of ['down', 'down/sub/large']) {
      const child = spawn('prlimit', [...args, `${ID}:${name}`, 'copy'], {
        cwd: at.here,
        env,
        stdio: 'ignore',
      });
      const [code] = (await once(child, 'exit')) as [number];
      expect({ name, code, there: found(at.here) }).toEqual({ name, code: 3, there: [] });
    }
  });
});
