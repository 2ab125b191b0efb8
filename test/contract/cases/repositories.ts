/** Conversations on a repository. */
import { expect } from 'vitest';
import { conversation, expectCode, inEachDialect, newest, ok, show, started, type ListJson, json } from '../support.ts';
import type { ContractCase } from '../target.ts';

export const REPOSITORIES: ContractCase[] = [
  ...inEachDialect('repository: cloned at its branch, and the changes come back as a diff', async (target, dialect) => {
    const { id } = await started(target, dialect, 'WORK', ...target.repository.flags, '--branch', 'next', '--wait');
    const shown = await show(target, id);
    expect(shown.branch).toBe('next');
    expect(shown.repository).not.toBeNull();
    const { items } = json<ListJson<{ path: string; status: string }>>(
      await ok(target, 'conv', 'diff', id, '--stat', '--json'),
    );
    expect(items).toMatchObject([{ path: 'hello.txt', status: 'added' }]);
    const { out } = await ok(target, 'conv', 'diff', id);
    expect(out).toContain('+hello from the agent');
  }),
  ...inEachDialect(
    'repository: an unknown branch is exit 5, though a server calls it started',
    async (target, dialect) => {
      const flags = [...target.repository.flags, '--branch', 'nowhere', '--wait', '--json'];
      expectCode(await conversation(target, dialect, 'WORK', ...flags), 5);
    },
  ),
  ...inEachDialect('repository: an unknown one is an error with the reason', async (target, dialect) => {
    const ended = await conversation(target, dialect, 'WORK', ...target.repository.unknown, '--wait', '--json');
    expect([1, 2, 4, 5], ended.err).toContain(ended.code);
    expect(ended.err).toMatch(/nowhere|git provider/i);
  }),
  {
    name: 'repository: credentials of the git host are shown nowhere',
    async run(target) {
      const flags = [...target.repository.flags, '--branch', 'next', '--wait', '--debug', '--json'];
      const ended = expectCode(await conversation(target, newest(target), 'WORK', ...flags), 0);
      const { id } = json(ended);
      const rest = [await ok(target, 'conv', 'events', id, '--json'), await ok(target, 'conv', 'diff', id, '--debug')];
      expect([ended, ...rest].map(({ out, err }) => out + err).join('')).not.toContain('token-of-the-git-host');
    },
  },
];
