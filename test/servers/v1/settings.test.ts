import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settingsTrap, type SettingsTrap } from '../../traps/support/settings-trap.ts';

describe('a V1 server', () => {
  let trap: SettingsTrap;

  beforeEach(async () => {
    trap = await settingsTrap();
  });
  afterEach(() => trap.close());

  it('is sent only the changed members, because it refuses some whole objects and clears members that are null', async () => {
    const { code, err } = await trap.acs('settings', 'set', 'max_iterations=17', 'git_user_name=Someone');
    expect(code, err).toBe(0);
    expect(trap.written).toEqual([{ git_user_name: 'Someone', conversation_settings_diff: { max_iterations: 17 } }]);
  });
});
