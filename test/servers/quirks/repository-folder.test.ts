import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cloneTrap, type CloneTrap } from '../../traps/support/clone-trap.ts';

let trap: CloneTrap;

beforeEach(async () => {
  trap = await cloneTrap();
});
afterEach(() => trap.close());
const onlyId = (): string => [...trap.conversations.keys()].join();

describe('a repository that is cloned below the working directory', () => {
  it('is found there, and conv diff shows the changes in it', async () => {
    const { code, err } = await trap.begin();
    expect(code, err).toBe(0);
    await writeFile(path.join(trap.clone, 'work.md'), 'the work\n');
    const diff = await trap.acs('conv', 'diff', onlyId());
    expect(diff, diff.err).toMatchObject({ code: 0 });
    expect(diff.out).toContain('+the work');
    expect(diff.out).toContain('b/work.md');
  });

  it('is missing when there is no clone', async () => {
    await rm(trap.clone, { recursive: true });
    const { code, err } = await trap.begin();
    expect(code).toBe(5);
    expect(err).toContain('did not arrive');
  });
});
