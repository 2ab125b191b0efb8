import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startService } from '../../../src/service/index.ts';
import { whyNoBubblewrap } from '../../../src/service/isolation/detect.ts';
import { hasBubblewrap, readOnlySettings } from '../../support/bubblewrap.ts';
import { PACKAGE_ROOT } from '../app/support.ts';

let dir: string;
let programs: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-trial-'));
  programs = path.join(dir, 'programs');
  mkdirSync(programs);
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

/** A program of this name; null: it is not installed. */
function install(name: string, script: string | null): void {
  if (script !== null) writeFileSync(path.join(programs, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** `unshare` that starts bubblewrap without a namespace: its command begins behind `sh -c <limit> sh`. */
const NO_LIMIT = 'shift 6; exec "$@"';

const start = (spec?: 'bubblewrap' | 'process', PATH = programs) =>
  startService({
    dataDir: path.join(dir, 'data'),
    root: PACKAGE_ROOT,
    version: '1.0.0',
    env: { PATH, HOME: dir },
    ...(spec === undefined ? {} : { spec }),
  });

it.each([
  ['bubblewrap is not installed', NO_LIMIT, null, 'bubblewrap (bwrap) is not installed'],
  ['unshare is not installed', null, 'exit 0', 'unshare (util-linux) is not installed'],
  [
    'bubblewrap is not permitted',
    NO_LIMIT,
    'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1',
    'uid map',
  ],
  [
    'user namespaces are not permitted',
    'echo "unshare failed: Operation not permitted" >&2; exit 1',
    'exit 0',
    'not per',
  ],
])('bubblewrap does not work where %s', async (_, unshare, bwrap, why) => {
  install('unshare', unshare);
  install('bwrap', bwrap);
  expect(await whyNoBubblewrap({ PATH: programs })).toContain(why);
  await expect(start('bubblewrap')).rejects.toMatchObject({ code: 'unsupported' });
  const service = await start();
  await service.close();
});

it.each([
  [
    'user namespaces are used up',
    'echo "unshare failed: No space left on device" >&2; exit 1',
    'exit 0',
    'No space left',
  ],
  ['bubblewrap is killed', NO_LIMIT, 'kill -9 $$', 'SIGKILL'],
  ['bubblewrap ends without a word', NO_LIMIT, 'exit 3', 'exit code 3'],
])('the service starts only with the spec process where %s', async (_, unshare, bwrap, why) => {
  install('unshare', unshare);
  install('bwrap', bwrap);
  await expect(whyNoBubblewrap({ PATH: programs })).rejects.toThrow(why);
  for (const spec of [undefined, 'bubblewrap'] as const) {
    await expect(start(spec)).rejects.toMatchObject({
      code: 'isolation',
      message: expect.stringContaining(why),
      hint: expect.stringContaining('acs serve --detach --spec process'),
    });
  }
  const service = await start('process');
  try {
    const create = (query: string) =>
      fetch(`${service.url}/api/v1/sandboxes${query}`, {
        method: 'POST',
        headers: { 'X-Session-API-Key': service.key },
      });
    const refused = await create('?sandbox_spec_id=bubblewrap');
    expect({ status: refused.status, text: await refused.text() }).toEqual({
      status: 501,
      text: expect.stringContaining(why),
    });
    expect(await (await create('')).json()).toMatchObject({ sandbox_spec_id: 'process' });
  } finally {
    await service.close();
  }
});

describe.runIf(hasBubblewrap)('where /proc/sys is read-only', () => {
  it('bubblewrap is not permitted when no other mount of /proc is, and the service starts', async () => {
    const PATH = readOnlySettings(programs, { elsewhere: false });
    expect(await whyNoBubblewrap({ PATH })).toMatch(/^the limit of namespaces cannot be set: .*denied/);
    await expect(start('bubblewrap', PATH)).rejects.toMatchObject({ code: 'unsupported' });
    const service = await start(undefined, PATH);
    await service.close();
  });

  it('bubblewrap works when another mount of /proc is permitted', async () => {
    expect(await whyNoBubblewrap({ PATH: readOnlySettings(programs, { elsewhere: true }) })).toBeNull();
  });
});

it('bubblewrap works where an empty sandbox starts and ends', async () => {
  install('unshare', NO_LIMIT);
  install('bwrap', 'exit 0');
  expect(await whyNoBubblewrap({ PATH: programs })).toBeNull();
});
