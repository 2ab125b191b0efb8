/** Exports of conversations, while their sandbox runs and afterwards. */
import { expect } from 'vitest';
import {
  inEachDialect,
  json,
  ok,
  show,
  started,
  untilPassedOn,
  withSandboxes,
} from '../support.ts';
import type { ContractCase, Target } from '../target.ts';

const RECONSTRUCTED = 'reconstructed from edit events; changes made by commands are not included';

const exported = async (
  target: Target,
  id: string,
  form: 'md' | 'html',
  ...flags: string[]
): Promise<string> => (await ok(target, 'conv', 'export', id, '--as', form, ...flags)).out;
const steps = (page: string): number => page.match(/<li class=/g)?.length ?? 0;

export const EXPORTING: ContractCase[] = [
  ...inEachDialect(
    'export: the steps, and the diff of a workspace that can be read',
    async (target, dialect) => {
      const { id } = await started(
        target,
        dialect,
        'WORK',
        ...target.repository.flags,
        '--branch',
        'next',
        '--wait',
      );
      const page = await exported(target, id, 'html');
      expect(steps(page)).toBeGreaterThan(2);
      expect(page).toContain('All done.');
      for (const text of [page, await exported(target, id, 'md')]) {
        expect(text).toContain('+hello from the agent');
        expect(text).not.toContain(RECONSTRUCTED);
      }
    },
  ),
  withSandboxes({
    name:
      'export: every step of a paused sandbox, which stays paused, and its diff, or ' +
      'what is missing',
    async run(target) {
      const { id, sandbox_id } = await started(
        target,
        'v1',
        'WORK',
        '--spec',
        target.specs[0],
        '--wait',
      );
      const before = steps(await exported(target, id, 'html'));
      await untilPassedOn(target, id);
      await ok(target, 'sandbox', 'pause', sandbox_id ?? '');
      const page = await exported(target, id, 'html');
      expect(steps(page)).toBeGreaterThanOrEqual(before);
      const { features } = json<{ features: string[] }>(await ok(target, 'whoami', '--json'));
      if (features.includes('stored-changes')) expect(page).not.toContain(RECONSTRUCTED);
      else expect(page).toMatch(new RegExp(`${RECONSTRUCTED}[^]*the sandbox is paused`));
      expect((await show(target, id)).sandbox_status).toBe('paused');
    },
  }),
];
