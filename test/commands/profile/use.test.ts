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

  it('use reports whether the default changed', async () => {
    expect(JSON.parse((await acs(['profile', 'use', 'lab', '--json'])).out)).toMatchObject({
      name: 'lab',
      default: true,
      changed: true,
    });
    expect(JSON.parse((await acs(['profile', 'use', 'lab', '--json'])).out)).toMatchObject({ changed: false });
    expect((await acs(['profile', 'use', 'nobody'])).code).toBe(5);
    expect(JSON.parse((await acs(['profile', 'use', 'local', '--json'])).out)).toMatchObject({
      name: 'local',
      default: true,
    });
  });
});
