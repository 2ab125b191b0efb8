import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json, useLooseStarts } from '../../traps/support/loose-starts.ts';
import { settingsTrap, type SettingsTrap } from '../../traps/support/settings-trap.ts';
import type { Reply } from '../support/fake-server.ts';

const { at } = useLooseStarts();
const UNHANDLED: Reply = { status: 500, text: 'Internal Server Error', type: 'text/plain' };

describe('settings set', () => {
  it.each([
    ['V1', {}],
    ['V0', { v0: true, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] }],
  ])('over %s exits 9 with both values when the server stores nothing', async (_, options) => {
    const { server } = await at('hello', { ...options, ignores: ['settings'] });
    const { code, out, err } = await server.acs('settings', 'set', 'llm_model=openai/other', '--json');
    expect({ code, out }).toEqual({ code: 9, out: '' });
    expect(err).toContain('openai/other');
    expect(err).toContain('openai/gpt-4o');
  });

  it.each([
    ['V1', {}],
    ['V0', { v0: true, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] }],
  ])('over %s reports a value that the server returns afterwards', async (_, options) => {
    const { server } = await at('hello', options);
    const ended = await server.acs('settings', 'set', 'llm_model=openai/other', '--json');
    expect(ended.code, ended.err).toBe(0);
    expect(json(ended)).toMatchObject({ llm_model: 'openai/other', changed: true });
  });
});

describe('a V1 server', () => {
  let trap: SettingsTrap;

  beforeEach(async () => {
    trap = await settingsTrap();
  });
  afterEach(() => trap.close());

  it.each([
    'enable_sound_notifications=maybe',
    'enable_sound_notifications=7',
    'sandbox_grouping_strategy=BY_COLOUR',
    'max_budget_per_task=much',
    'max_iterations=0',
    'remote_runtime_resource_factor=3',
    'disabled_skills=7',
    'no_such_setting=1',
  ])('is not sent %s, which it would store and never read again', async (word) => {
    expect(await trap.acs('settings', 'set', word)).toMatchObject({ code: 2 });
    expect(trap.written).toEqual([]);
  });

  it('with a value of a wrong type stored exits 9 with the setting and the next step', async () => {
    const { before } = trap;
    trap.before = (asked) => (asked.method === 'GET' && asked.path === '/api/v1/settings' ? UNHANDLED : before(asked));
    const { code, err } = await trap.acs('settings', 'get');
    expect(code).toBe(9);
    expect(err).toContain('cannot read the settings that it has stored');
    expect(err).toContain('its operator');
    expect(await trap.acs('settings', 'set', 'max_iterations=17')).toMatchObject({ code: 9 });
    expect(trap.written).toEqual([]);
  });

  it('whose other routes fail because of it makes the error name its settings', async () => {
    trap.before = ({ path }) => (path.startsWith('/api/v1/app-conversations/') ? UNHANDLED : null);
    const { code, err } = await trap.acs('conv', 'list');
    expect(code).toBe(9);
    expect(err).toContain('acs settings get');
  });
});
