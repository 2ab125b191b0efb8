import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cloneTrap, type CloneTrap, git } from '../../traps/support/clone-trap.ts';

let trap: CloneTrap;

beforeEach(async () => {
  trap = await cloneTrap();
});
afterEach(() => trap.close());

describe('a repository that is cloned below the working directory', () => {
  it('conv new --branch exits 9 with both branches when another one is checked out', async () => {
    const { code, err } = await trap.begin('--branch', 'next');
    expect(code).toBe(9);
    expect(err).toContain('ignored --branch next and started the conversation on main');
  });

  it('conv new --branch exits 0 when it is checked out', async () => {
    git(trap.clone, 'checkout', '-q', 'next');
    const { code, err } = await trap.begin('--branch', 'next');
    expect(code, err).toBe(0);
  });

  it('conv new --branch exits 5 when the clone does not have it', async () => {
    expect(await trap.begin('--branch', 'nowhere')).toMatchObject({ code: 5 });
  });
});
