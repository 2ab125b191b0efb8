import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../src/service/index.ts';
import {
  assertResumable,
  assertSpecWorks,
  chooseSpecs,
  isSpecName,
  sandboxSpecs,
  type SpecChoice,
  specChoice,
  SpecRefused,
} from '../../../src/service/sandboxes/specs.ts';
import type { SandboxSpecName } from '../../../src/service/base/worker-protocol.ts';
import { hasBubblewrap, readOnlySettings } from '../../support/bubblewrap.ts';
import { PACKAGE_ROOT } from '../app/support.ts';
import { folderOfEachTest } from '../../support/temporary-folder.ts';

const works = specChoice(null, null);
const broken = specChoice(null, 'not installed');

it('specs that work are listed with the default first, each once', () => {
  const listed = (choice: SpecChoice) =>
    sandboxSpecs(choice, '2026-01-01T00:00:00Z').map(({ id }) => id);
  expect(listed(broken)).toEqual(['process']);
  expect(listed(specChoice('process', 'not installed'))).toEqual(['process']);
  const names = listed(specChoice('bubblewrap-offline', null));
  expect(names).toEqual(['bubblewrap-offline', 'bubblewrap', 'process']);
  expect([...names, 'docker', '', 'constructor'].map(isSpecName)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});

it('a spec with isolation is refused where bubblewrap does not work, with the reason', () => {
  for (const spec of ['bubblewrap', 'bubblewrap-offline'] as const) {
    assertSpecWorks(spec, works);
    expect(() => {
      assertSpecWorks(spec, broken);
    }).toThrow(/is not available: not installed\..*the spec process/);
  }
  assertSpecWorks('process', broken);
});

it.each([
  ['with the isolation that it had', 'bubblewrap', null, works, true],
  ['without isolation as it was created', 'process', null, broken, true],
  ['with isolation where bubblewrap no longer works', 'bubblewrap', 'process', broken, false],
] as const)('a sandbox %s is resumed: %s named %s', (_, isolation, named, choice, isResumed) => {
  const resume = (): void => {
    assertResumable({ id: 's', spec_id: isolation, isolation }, named, choice);
  };
  if (isResumed) expect(resume).not.toThrow();
  else expect(resume).toThrow(SpecRefused);
});

it('a sandbox that has run without its isolation is resumed so only when the request names process', () => {
  const row = { id: 's', spec_id: 'bubblewrap', isolation: 'process' } as const;
  for (const named of [null, 'bubblewrap']) {
    expect(() => {
      assertResumable(row, named, works);
    }).toThrow('acs sandbox start s --spec process');
  }
  assertResumable(row, 'process', works);
});

const programs = folderOfEachTest();

/**
 * `unshare` that starts bubblewrap without a namespace: its command begins behind `sh -c <limit>
 * sh`.
 */
const NO_LIMIT = 'shift 6; exec "$@"';

/** The choice where these two programs are the scripts; null: not installed. */
function chosen(
  spec: SandboxSpecName | undefined,
  bwrap: string | null,
  unshare: string | null = NO_LIMIT,
) {
  for (const [name, script] of Object.entries({ bwrap, unshare })) {
    if (script !== null)
      writeFileSync(path.join(programs.path, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  return chooseSpecs({ env: { PATH: programs.path }, spec });
}

it('the default spec is bubblewrap where it works, unless another one is named', async () => {
  expect(await chosen(undefined, 'exit 0')).toEqual({
    byDefault: 'bubblewrap',
    warning: null,
    whyNoBubblewrap: null,
  });
  expect(await chosen('process', 'exit 0')).toMatchObject({
    byDefault: 'process',
    whyNoBubblewrap: null,
  });
});

const NOT_PERMITTED = 'echo "bwrap: setting up uid map: Permission denied" >&2; exit 1';

it.each([
  [null, NO_LIMIT, 'bubblewrap (bwrap) is not installed'],
  ['exit 0', null, 'unshare (util-linux) is not installed'],
  [NOT_PERMITTED, NO_LIMIT, 'uid map'],
  ['exit 0', 'echo "unshare failed: Operation not permitted" >&2; exit 1', 'not permitted'],
])(
  'the default spec is process, with a warning, with bwrap %j and unshare %j',
  async (bwrap, unshare, why) => {
    expect(await chosen(undefined, bwrap, unshare)).toMatchObject({
      byDefault: 'process',
      warning: expect.stringContaining(why) as string,
      whyNoBubblewrap: expect.stringContaining(why) as string,
    });
    const message = expect.stringContaining(why) as string;
    await expect(chosen('bubblewrap', bwrap, unshare)).rejects.toMatchObject({
      code: 'unsupported',
      message,
    });
  },
);

it.each([
  ['exit 0', 'echo "unshare failed: No space left on device" >&2; exit 1', 'No space left'],
  ['kill -9 $$', NO_LIMIT, 'SIGKILL'],
  ['exit 3', NO_LIMIT, 'exit code 3'],
])(
  'another failure of the trial is an error, unless process is named: %j, %j',
  async (bwrap, unshare, why) => {
    for (const spec of [undefined, 'bubblewrap'] as const) {
      await expect(chosen(spec, bwrap, unshare)).rejects.toMatchObject({
        code: 'isolation',
        message: expect.stringContaining(why) as string,
        hint: expect.stringContaining('acs serve --detach --spec process') as string,
      });
    }
    expect(await chosen('process', bwrap, unshare)).toMatchObject({
      byDefault: 'process',
      warning: null,
      whyNoBubblewrap: expect.stringContaining(why) as string,
    });
  },
);

describe.runIf(hasBubblewrap)('where /proc/sys is read-only', () => {
  it.each([true, false])(
    'bubblewrap works when another mount of /proc is permitted: %s',
    async (elsewhere) => {
      const { whyNoBubblewrap } = await chooseSpecs({
        env: { PATH: readOnlySettings(programs.path, { elsewhere }) },
      });
      if (elsewhere) expect(whyNoBubblewrap).toBeNull();
      else expect(whyNoBubblewrap).toMatch(/^the limit of namespaces cannot be set: .*denied/);
    },
  );
});

it('a service whose trial of bubblewrap fails starts only with the spec process, and refuses the others', async () => {
  writeFileSync(path.join(programs.path, 'unshare'), '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  writeFileSync(path.join(programs.path, 'bwrap'), '', { mode: 0o755 });
  const start = (spec?: SandboxSpecName) =>
    startService({
      dataDir: path.join(programs.path, 'data'),
      root: PACKAGE_ROOT,
      version: '1.0.0',
      env: { PATH: programs.path, HOME: programs.path },
      spec,
    });
  await expect(start()).rejects.toMatchObject({ code: 'isolation' });
  const service = await start('process');
  const create = (query: string) =>
    fetch(`${service.url}/api/v1/sandboxes${query}`, {
      method: 'POST',
      headers: { 'X-Session-API-Key': service.key },
    });
  try {
    const refused = await create('?sandbox_spec_id=bubblewrap');
    expect([refused.status, await refused.text()]).toEqual([
      501,
      expect.stringContaining('exit code 3'),
    ]);
    expect(await (await create('')).json()).toMatchObject({ sandbox_spec_id: 'process' });
  } finally {
    await service.close();
  }
});
