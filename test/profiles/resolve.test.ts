import { describe, expect, it } from 'vitest';
import { planTarget, planTargets, type StoredProfiles } from '../../src/profiles/resolve.ts';
import { failure, type Given, plan, query, STORED } from './support/plan.ts';

/** What decides, in one line. */
async function chosen(given: Given): Promise<string> {
  const { base_url: url, base_url_source: source, key, profile, notices } = await plan(given);
  const from = key.from === 'value' ? key.source : key.from;
  return [url ?? 'local service', source, profile ?? '-', from, ...notices].join(' | ');
}

describe('which server', () => {
  const EVERYTHING = { ACS_BASE_URL: 'https://env.example', ACS_PROFILE: 'bare' };

  it.each<[string, Given, string]>([
    [
      '--base-url comes before everything',
      { baseUrl: 'https://flag.example', env: EVERYTHING, defaultName: 'work' },
      'https://flag.example | flag | - | none',
    ],
    [
      '--profile comes before the variables',
      { profile: 'work', env: EVERYTHING, defaultName: 'bare' },
      'https://work.example | profile:work | work | profile:work',
    ],
    [
      'ACS_BASE_URL comes before ACS_PROFILE',
      { env: EVERYTHING, defaultName: 'work' },
      'https://env.example | env:ACS_BASE_URL | - | none',
    ],
    [
      'a URL comes before local too, which is spoken of',
      { profile: 'local', baseUrl: 'https://flag.example' },
      'https://flag.example | flag | - | none | the profile "local" is not used, because --base-url names the server',
    ],
    [
      'ACS_BASE_URL comes before local in ACS_PROFILE',
      { env: { ...EVERYTHING, ACS_PROFILE: 'local' } },
      'https://env.example | env:ACS_BASE_URL | - | none | the profile "local" is not used, because ACS_BASE_URL names the server',
    ],
    [
      'ACS_PROFILE comes before the default',
      { env: { ACS_PROFILE: 'bare' }, defaultName: 'work' },
      'https://bare.example/acs | profile:bare | bare | none',
    ],
    [
      'the default profile comes before local',
      { offTerminal: false, defaultName: 'work' },
      'https://work.example | default | work | profile:work',
    ],
    ['on a terminal nothing at all means local', { offTerminal: false }, 'local service | built-in | local | local'],
    ['local may be named off a terminal', { profile: 'local' }, 'local service | profile:local | local | local'],
    ['ACS_PROFILE may name local', { env: { ACS_PROFILE: 'local' } }, 'local service | profile:local | local | local'],
    [
      'the default may be local, also off a terminal',
      { defaultName: 'local' },
      'local service | default | local | local',
    ],
  ])('%s', async (_, given, expected) => {
    expect(await chosen(given).then((line) => line.replace(/ \| the key of .*/, ''))).toBe(expected);
  });

  it('has no default off a terminal: exit 3 with both next steps', async () => {
    const { code, kind, hint } = await failure({});
    expect({ code, kind }).toEqual({ code: 3, kind: 'config' });
    expect(hint).toContain('ACS_BASE_URL');
    expect(hint).toContain('ACS_API_KEY');
    expect(hint).toContain('--profile local');
  });

  it.each(['ACS_BASE_URL', 'ACS_PROFILE', 'ACS_API_KEY'])(
    'exits 3 when %s is set but empty, whatever else is given',
    async (name) => {
      for (const empty of ['', ' ', '\n']) {
        for (const given of [{ profile: 'local' }, { baseUrl: 'https://flag.example' }, { offTerminal: false }]) {
          const { code, message } = await failure({ ...given, env: { [name]: empty } });
          expect({ code, message }).toEqual({ code: 3, message: `${name} is set but empty` });
        }
      }
    },
  );

  it.each(['ACS_API_KEY', 'OPENHANDS_API_KEY', 'OPENHANDS_CLOUD_API_KEY'])(
    'exits 3 for %s without a server, also on a terminal',
    async (name) => {
      const { code, message } = await failure({ env: { [name]: 'lost' }, offTerminal: false });
      expect({ code, message }).toEqual({ code: 3, message: `${name} gives a key, but no server is given` });
    },
  );

  it('--api-key-file without a server is exit 3', async () => {
    expect((await failure({ apiKeyFile: 'key', offTerminal: false })).code).toBe(3);
  });

  it('an unknown profile is exit 3 and the known ones are named', async () => {
    const { code, hint } = await failure({ profile: 'wrok' });
    expect(code).toBe(3);
    expect(hint).toContain('work, bare, vault, local');
  });

  it.each<[Given, number]>([
    [{ baseUrl: '' }, 2],
    [{ baseUrl: 'acs.example.com' }, 2],
    [{ baseUrl: 'ftp://acs.example.com' }, 2],
    [{ baseUrl: 'https://' }, 2],
    [{ baseUrl: 'https://acs.example.com/?token=x' }, 2],
    [{ env: { ACS_BASE_URL: 'acs.example.com' } }, 3],
    [{ profile: '' }, 2],
    [{ profile: 'work,,bare' }, 2],
    [{ apiKeyFile: '', profile: 'work' }, 2],
  ])('a wrong flag is exit 2 and a wrong variable exit 3: %j', async (given, code) => {
    expect((await failure(given)).code).toBe(code);
  });

  it('the store is read only when the answer depends on it', async () => {
    const corrupt = () => Promise.reject<StoredProfiles>(new Error('corrupt'));
    for (const given of [
      { baseUrl: 'https://a.example' },
      { profile: 'local' },
      { env: { ACS_BASE_URL: 'https://a.example' } },
    ]) {
      await expect(planTarget(query(given), corrupt)).resolves.toBeDefined();
    }
    await expect(planTarget(query({}), corrupt)).rejects.toThrow('corrupt');
  });
});

describe('which key', () => {
  const KEY = { ACS_API_KEY: 'env-key' };

  it.each<[string, Given, string]>([
    [
      '--api-key-file comes before the profile',
      { profile: 'work', apiKeyFile: 'k' },
      'https://work.example | profile:work | work | file',
    ],
    ['- is stdin', { profile: 'work', apiKeyFile: '-' }, 'https://work.example | profile:work | work | stdin'],
    [
      "a profile's own key comes before ACS_API_KEY, which is then spoken of",
      { profile: 'work', env: KEY },
      'https://work.example | profile:work | work | profile:work | ACS_API_KEY is set but not used: profile "work" has its own key',
    ],
    [
      'a command counts as its own key',
      { profile: 'vault' },
      'https://vault.example | profile:vault | vault | command',
    ],
    [
      'ACS_API_KEY goes to a profile that stores none',
      { profile: 'bare', env: KEY },
      'https://bare.example/acs | profile:bare | bare | env:ACS_API_KEY',
    ],
    [
      'ACS_API_KEY goes to --base-url',
      { baseUrl: 'https://a.example', env: KEY },
      'https://a.example | flag | - | env:ACS_API_KEY',
    ],
    [
      'ACS_API_KEY goes to ACS_BASE_URL',
      { env: { ...KEY, ACS_BASE_URL: 'https://a.example' } },
      'https://a.example | env:ACS_BASE_URL | - | env:ACS_API_KEY',
    ],
    [
      'ACS_API_KEY is spoken of when a file gives the key',
      { baseUrl: 'https://a.example', apiKeyFile: 'k', env: KEY },
      'https://a.example | flag | - | file | ACS_API_KEY is set but not used: --api-key-file gives the key',
    ],
    [
      'OPENHANDS_API_KEY is read when it is unset',
      { baseUrl: 'https://a.example', env: { OPENHANDS_API_KEY: 'a', OPENHANDS_CLOUD_API_KEY: 'b' } },
      'https://a.example | flag | - | env:OPENHANDS_API_KEY',
    ],
    [
      'OPENHANDS_CLOUD_API_KEY comes last',
      { baseUrl: 'https://a.example', env: { OPENHANDS_CLOUD_API_KEY: 'b' } },
      'https://a.example | flag | - | env:OPENHANDS_CLOUD_API_KEY',
    ],
    [
      'ACS_API_KEY comes before both',
      { baseUrl: 'https://a.example', env: { ...KEY, OPENHANDS_API_KEY: 'a' } },
      'https://a.example | flag | - | env:ACS_API_KEY',
    ],
    [
      'local takes only its own key',
      { profile: 'local', env: KEY },
      'local service | profile:local | local | local | ACS_API_KEY is set but not used: the local service accepts only its own key',
    ],
    [
      "a stored key follows --base-url within its server's origin",
      { profile: 'work', baseUrl: 'https://work.example/other' },
      'https://work.example/other | flag | work | profile:work',
    ],
    [
      'a stored key goes to no other origin',
      { profile: 'work', baseUrl: 'https://work.example:8443', env: KEY },
      'https://work.example:8443 | flag | - | env:ACS_API_KEY | the key of profile "work" belongs to https://work.example and is not sent to https://work.example:8443',
    ],
    [
      'the key of ACS_PROFILE does not go to ACS_BASE_URL elsewhere',
      { env: { ACS_PROFILE: 'work', ACS_BASE_URL: 'http://work.example' } },
      'http://work.example | env:ACS_BASE_URL | - | none | the key of profile "work" belongs to https://work.example and is not sent to http://work.example',
    ],
  ])('%s', async (_, given, expected) => {
    expect(await chosen(given)).toBe(expected);
  });

  it('local with --api-key-file is exit 2', async () => {
    expect((await failure({ profile: 'local', apiKeyFile: 'k' })).code).toBe(2);
  });

  it('an empty OPENHANDS_API_KEY exits 3 when it would be read, and is ignored otherwise', async () => {
    expect((await failure({ baseUrl: 'https://a.example', env: { OPENHANDS_API_KEY: '' } })).code).toBe(3);
    await expect(plan({ profile: 'work', env: { OPENHANDS_API_KEY: '' } })).resolves.toBeDefined();
  });
});

describe('several profiles', () => {
  const plans = (given: Given) =>
    planTargets(query(given), () => Promise.resolve({ profiles: STORED, defaultName: null }));

  it('a list gives one plan for each name, in order, without duplicates', async () => {
    const names = (await plans({ profile: 'bare, work,local,bare' })).map((each) => each.profile);
    expect(names).toEqual(['bare', 'work', 'local']);
  });

  it('a command for one server refuses a list with exit 2', async () => {
    expect((await failure({ profile: 'bare,work' })).code).toBe(2);
  });

  it('one URL or one key for several servers is refused', async () => {
    await expect(plans({ profile: 'bare,work', baseUrl: 'https://a.example' })).rejects.toMatchObject({
      kind: 'usage',
    });
    await expect(plans({ profile: 'bare,work', apiKeyFile: 'k' })).rejects.toMatchObject({ kind: 'usage' });
  });

  it('the name of a cache is the origin, or "local" for the local service', async () => {
    expect((await plans({ profile: 'bare,local' })).map((each) => each.origin)).toEqual([
      'https://bare.example',
      'local',
    ]);
  });
});

describe('the plan for a server', () => {
  const defaults = { model: 'm' };
  const stored = [{ ...STORED[0]!, defaults }, { ...STORED[1]! }];

  it('of a URL has no profile and is not of the local service', async () => {
    expect(await plan({ baseUrl: 'https://flag.example' })).toEqual({
      base_url: 'https://flag.example',
      origin: 'https://flag.example',
      base_url_source: 'flag',
      profile: null,
      local: false,
      defaults: {},
      key: { from: 'none' },
      notices: [],
    });
  });

  it('of a profile has its defaults and its key', async () => {
    expect(await plan({ profile: 'work', stored })).toEqual({
      base_url: 'https://work.example',
      origin: 'https://work.example',
      base_url_source: 'profile:work',
      profile: 'work',
      local: false,
      defaults,
      key: { from: 'value', value: 'work-key', source: 'profile:work' },
      notices: [],
    });
    expect(await plan({ profile: 'bare', stored })).toMatchObject({ local: false, defaults: {} });
    const named = { profile: 'work', baseUrl: 'https://work.example', stored };
    expect(await plan(named)).toMatchObject({ profile: 'work', local: false, defaults, key: { value: 'work-key' } });
  });

  it('of the local service has no URL', async () => {
    expect(await plan({ profile: 'local' })).toEqual({
      base_url: null,
      origin: 'local',
      base_url_source: 'profile:local',
      profile: 'local',
      local: true,
      defaults: {},
      key: { from: 'local' },
      notices: [],
    });
  });

  it('of a profile in ACS_PROFILE ignores blanks around the name', async () => {
    expect(await plan({ env: { ACS_PROFILE: ' work ' } })).toMatchObject({
      profile: 'work',
      base_url_source: 'profile:work',
    });
  });

  it('of another server than that of the profile does not have its key, and names the key that is not sent', async () => {
    const baseUrl = 'https://flag.example';
    for (const profile of ['work', 'vault'])
      expect(await plan({ profile, baseUrl })).toMatchObject({
        profile: null,
        key: { from: 'none' },
        notices: [
          `the key of profile "${profile}" belongs to https://${profile}.example and is not sent to ${baseUrl}`,
        ],
      });
    expect((await plan({ profile: 'bare', baseUrl })).notices).toEqual([]);
  });
});

describe('a command that takes one server', () => {
  it('refuses several profiles', async () => {
    expect(await failure({ profile: 'work,bare' })).toEqual({
      kind: 'usage',
      code: 2,
      message: 'this command takes one profile',
      hint: 'lists and bulk commands take several profiles',
    });
  });
});
