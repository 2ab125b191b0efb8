import { beforeEach, describe, expect, it } from 'vitest';
import { useMachine } from './support.ts';

const machine = useMachine();
const acs = machine.acs;
const bare = machine.bare;

describe('profile use, rename, delete', () => {
  beforeEach(async () => {
    await bare('work');
    await bare('lab');
  });

  it('rename keeps the default and refuses a taken name', async () => {
    expect(JSON.parse((await acs(['profile', 'rename', 'work', 'office', '--json'])).out)).toMatchObject({
      name: 'office',
      default: true,
      changed: true,
    });
    expect((await acs(['profile', 'rename', 'lab', 'office'])).code).toBe(6);
    expect((await acs(['profile', 'rename', 'local', 'mine'])).code).toBe(2);
    expect((await acs(['profile', 'rename', 'nobody', 'x'])).code).toBe(5);
  });
});
