import { beforeEach, describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const stored = machine.stored;
const bare = machine.bare;

describe('profile use, rename, delete', () => {
  beforeEach(async () => {
    await bare('work');
    await bare('lab');
  });

  it('delete exits 2 without -y off a terminal, and clears the default', async () => {
    expect((await acs(['profile', 'delete', 'work'])).code).toBe(2);
    expect(Object.keys(stored().profiles)).toEqual(['work', 'lab']);
    const { code, out, err } = await acs(['profile', 'rm', 'work', '-y', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: 'work', changed: true })]);
    expect(err).toContain('there is no default profile now');
    expect(stored()).toMatchObject({ default: null });
    expect((await acs(['profile', 'delete', 'work', '-y'])).code).toBe(5);
    expect(
      JSON.parse((await acs(['profile', 'delete', 'work', '-y', '--ignore-not-found', '--json'])).out),
    ).toMatchObject({ changed: false });
    expect((await acs(['profile', 'delete', 'local', '-y'])).code).toBe(2);
  });

  it('delete takes several, also from stdin, and lists those that failed', async () => {
    expect((await acs(['profile', 'delete', 'work', 'lab'])).code).toBe(2);
    const { code, out, err } = await acs(['profile', 'delete', 'work', 'nobody', '-', '-y', '--json'], {
      stdin: 'lab\n',
    });
    expect({ code, out: JSON.parse(out) as unknown }).toMatchObject({
      code: 1,
      out: {
        items: [
          { id: 'work', ok: true, changed: true, before: 'present', after: null },
          { id: 'nobody', ok: false, error: { code: 'not-found' } },
          { id: 'lab', ok: true, changed: true },
        ],
        matched: 3,
        failed: 1,
      },
    });
    expect(err).toContain('there is no default profile now');
    expect(Object.keys(stored().profiles)).toEqual([]);
    const again = await acs(['profile', 'delete', 'work', 'lab', '-y', '--ignore-not-found', '--json']);
    expect(JSON.parse(again.out)).toMatchObject({ items: [{ changed: false }, { changed: false }], failed: 0 });
    expect((await acs(['profile', 'delete', 'work', 'local', '-y'])).code).toBe(2);
  });
});
