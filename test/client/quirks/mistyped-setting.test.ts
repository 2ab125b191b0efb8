import { beforeEach, describe, expect, it } from 'vitest';
import type { Reply } from '../../support/server.ts';
import { useLoose, useV1 } from '../../support/use-scripted.ts';
import { recordings } from '../support/v1-server.ts';

const UNHANDLED: Reply = { status: 500, text: 'Internal Server Error', type: 'text/plain' };

describe.each([
  ['V1', {}],
  ['V0', { v0: true, lacks: ['GET /api/v1/settings', 'POST /api/v1/settings'] }],
])('settings set over %s', (_, options) => {
  const at = useLoose();
  const line = 'settings set llm_model=openai/other --json';

  it('exits 9 with both values when the server stores nothing', async () => {
    at.serve({ ...options, ignores: ['settings'] });
    await at.ends(line, { code: 9, out: '', err: ['openai/other', 'openai/gpt-4o'] });
  });

  it('reports a value that the server returns afterwards', async () => {
    at.serve(options);
    await at.ends(line, { out: { llm_model: 'openai/other', changed: true } });
  });
});

describe('a V1 server', () => {
  const at = useV1();
  const PATH = '/api/v1/settings';
  const written = (): unknown[] => at.server.writes().map(({ body }) => body);

  beforeEach(() => {
    let stored = recordings('1.11.0').body('settings.get.after-plain') as Record<string, unknown>;
    at.script({
      [`GET ${PATH}`]: () => ({ json: stored }),
      [`POST ${PATH}`]: ({ body }) => {
        const { conversation_settings_diff, ...plain } = body as Record<string, object>;
        const conversation_settings = {
          ...(stored['conversation_settings'] as object),
          ...conversation_settings_diff,
        };
        stored = { ...stored, ...plain, conversation_settings };
        return { json: { message: 'Settings stored' } };
      },
    });
  });

  it('is sent only the changed members, because it refuses some whole objects and clears members that are null', async () => {
    await at.ends('settings set max_iterations=17 git_user_name=Someone', {});
    expect(written()).toEqual([
      { git_user_name: 'Someone', conversation_settings_diff: { max_iterations: 17 } },
    ]);
  });

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
    await at.ends(`settings set ${word}`, { code: 2, writes: [] });
  });

  it('with a value of a wrong type stored exits 9 with the setting and the next step', async () => {
    at.script({ [`GET ${PATH}`]: UNHANDLED, 'GET /api/v1/users/me': UNHANDLED });
    const err = ['cannot read the settings that it has stored', 'its operator'];
    await at.ends('settings get', { code: 9, err });
    await at.ends('settings set max_iterations=17', { code: 9, writes: [] });
  });

  it.each([
    ['conv list', '/api/v1/app-conversations/search'],
    ['settings get', PATH],
  ])(
    'that fails at one route makes the error of %s name that route, and not the stored settings',
    async (verb, path) => {
      at.script({ [`GET ${path}`]: UNHANDLED });
      const { err } = await at.ends(verb, {
        code: 9,
        err: [`the server answered 500 to GET ${path}`, 'acs doctor'],
      });
      expect(err).not.toContain('stored');
    },
  );
});
