import { expect, it } from 'vitest';
import {
  assertResumable,
  assertSpecWorks,
  isSpecName,
  sandboxSpecs,
  specChoice,
  SpecRefused,
} from '../../../src/service/sandboxes/specs.ts';

const works = specChoice(null, null);
const broken = specChoice(null, 'not installed');

it('the default is bubblewrap where it works, else process with a warning, unless one was named', () => {
  expect(works).toMatchObject({ byDefault: 'bubblewrap', warning: null });
  expect(broken).toMatchObject({ byDefault: 'process', warning: expect.stringContaining('not installed') as string });
  expect(specChoice('bubblewrap', 'not installed')).toMatchObject({ byDefault: 'bubblewrap', warning: null });
});

it('specs are listed with the default first, each once', () => {
  const names = sandboxSpecs('bubblewrap-offline', '2026-01-01T00:00:00Z').map(({ id }) => id);
  expect(names).toEqual(['bubblewrap-offline', 'bubblewrap', 'process']);
  expect([...names, 'docker', '', 'constructor'].map(isSpecName)).toEqual([true, true, true, false, false, false]);
});

it('a spec with isolation is refused where bubblewrap does not work, with the reason', () => {
  for (const spec of ['bubblewrap', 'bubblewrap-offline'] as const) {
    assertSpecWorks(spec, works);
    expect(() => {
      assertSpecWorks(spec, broken);
    }).toThrow(/does not work here: not installed\..*the spec process/);
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
