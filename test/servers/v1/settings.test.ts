import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v1Trap, type V1Trap } from '../../traps/support/trap.ts';
import { recordings } from '../support/recordings.ts';

const newer = recordings('1.11.0');

describe('a V1 server', () => {
  let trap: V1Trap;
  let written: unknown[];
  let stored: Record<string, unknown>;

  beforeEach(async () => {
    trap = await v1Trap();
    written = [];
    stored = newer.body('settings.get.after-plain') as Record<string, unknown>;
    trap.before = ({ method, path, body }) => {
      if (path !== '/api/v1/settings') return null;
      if (method === 'GET') return { json: stored };
      written.push(body);
      const { conversation_settings_diff, ...plain } = body as Record<string, object>;
      const conversation_settings = { ...(stored['conversation_settings'] as object), ...conversation_settings_diff };
      stored = { ...stored, ...plain, conversation_settings };
      return { json: { message: 'Settings stored' } };
    };
  });
  afterEach(() => trap.close());

  it('is sent only the changed members, because it refuses some whole objects and clears members that are null', async () => {
    const { code, err } = await trap.acs('settings', 'set', 'max_iterations=17', 'git_user_name=Someone');
    expect(code, err).toBe(0);
    expect(written).toEqual([{ git_user_name: 'Someone', conversation_settings_diff: { max_iterations: 17 } }]);
  });
});
