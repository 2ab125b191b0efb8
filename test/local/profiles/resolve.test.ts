import { describe, expect, it } from 'vitest';
import { isAppError } from '../../../src/base/errors.ts';
import {
  planTarget,
  type Profile,
  type StoredProfiles,
  type TargetQuery,
} from '../../../src/local/profiles/resolve.ts';

const created_at = '2026-01-01T00:00:00Z';
/** The profiles of a query that names no others. */
const STORED: Profile[] = [
  { name: 'work', base_url: 'https://work.example', key: 'work-key', created_at },
  { name: 'bare', base_url: 'https://bare.example/acs', created_at },
  { name: 'vault', base_url: 'https://vault.example', key_command: 'pass show acs', created_at },
];

type Given = Partial<TargetQuery> & { defaultName?: string; stored?: Profile[] };

function query({ env = {}, offTerminal = true, profile, baseUrl, apiKeyFile }: Given): TargetQuery {
  return { env, offTerminal, profile, baseUrl, apiKeyFile };
}

function plan(given: Given) {
  const { stored = STORED, defaultName = null } = given;
  return planTarget(query(given), () => Promise.resolve({ profiles: stored, defaultName }));
}

/** The error of a query that has to be refused. */
async function failure(given: Given) {
  try {
    await plan(given);
  } catch (error) {
    if (isAppError(error))
      return {
        kind: error.kind,
        code: error.exitCode,
        message: error.message,
        hint: error.details.hint ?? '',
      };
    throw error;
  }
  throw new Error('it was accepted');
}

const FLAG = 'https://flag.example';
const WORK = 'https://work.example';
const BARE = 'https://bare.example/acs';

/**
 * What decides, in one line: the URL, its source, the profile, the source of the key, the notices.
 */
async function chosen(given: Given): Promise<string> {
  const { base_url: url, base_url_source: source, ...target } = await plan(given);
  const { key, profile, notices, local } = target;
  const own = key.from === 'value' ? key.source : key.from;
  const from = local ? 'local' : own;
  return [url ?? 'local service', source, profile ?? '-', from, ...notices].join(' | ');
}

describe('which server', () => {
  const EVERYTHING = { ACS_BASE_URL: 'https://env.example', ACS_PROFILE: 'bare' };
  const unused = (by: string) => `the profile "local" is not used, because ${by} names the server`;

  it.each<[Given, string]>([
    [
      { baseUrl: FLAG, env: EVERYTHING, defaultName: 'work' },
      'https://flag.example | flag | - | none',
    ],
    [
      { profile: 'work', env: EVERYTHING, defaultName: 'bare' },
      `${WORK} | profile:work | work | profile:work`,
    ],
    [{ env: EVERYTHING, defaultName: 'work' }, 'https://env.example | env:ACS_BASE_URL | - | none'],
    [{ profile: 'local', baseUrl: FLAG }, `${FLAG} | flag | - | none | ${unused('--base-url')}`],
    [
      { env: { ...EVERYTHING, ACS_PROFILE: 'local' } },
      `https://env.example | env:ACS_BASE_URL | - | none | ${unused('ACS_BASE_URL')}`,
    ],
    [{ env: { ACS_PROFILE: 'bare' }, defaultName: 'work' }, `${BARE} | profile:bare | bare | none`],
    [{ env: { ACS_PROFILE: ' work ' } }, `${WORK} | profile:work | work | profile:work`],
    [{ offTerminal: false, defaultName: 'work' }, `${WORK} | default | work | profile:work`],
    [{ offTerminal: false }, 'local service | built-in | local | local'],
    [{ profile: 'local' }, 'local service | profile:local | local | local'],
    [{ env: { ACS_PROFILE: 'local' } }, 'local service | profile:local | local | local'],
    [{ defaultName: 'local' }, 'local service | default | local | local'],
  ])('%j selects %s', async (given, expected) => {
    expect(await chosen(given)).toBe(expected);
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
        for (const given of [
          { profile: 'local' },
          { baseUrl: 'https://flag.example' },
          { offTerminal: false },
        ]) {
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
      expect({ code, message }).toEqual({
        code: 3,
        message: `${name} gives a key, but no server is given`,
      });
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
    [{ profile: 'work,bare' }, 3],
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
  const FIRST = { OPENHANDS_API_KEY: 'a' };
  const SECOND = { OPENHANDS_CLOUD_API_KEY: 'b' };
  const OWN_KEY = 'is set but not used: profile "work" has its own key';
  const notSent = (name: string, to: string) =>
    `the key of profile "${name}" belongs to https://${name}.example and is not sent to ${to}`;

  it.each<[Given, string]>([
    [{ profile: 'work', apiKeyFile: 'k' }, `${WORK} | profile:work | work | file`],
    [{ profile: 'work', apiKeyFile: '-' }, `${WORK} | profile:work | work | stdin`],
    [
      { profile: 'work', env: KEY },
      `${WORK} | profile:work | work | profile:work | ACS_API_KEY ${OWN_KEY}`,
    ],
    [
      { profile: 'work', env: FIRST },
      `${WORK} | profile:work | work | profile:work | OPENHANDS_API_KEY ${OWN_KEY}`,
    ],
    [{ profile: 'vault' }, 'https://vault.example | profile:vault | vault | command'],
    [{ profile: 'bare', env: KEY }, `${BARE} | profile:bare | bare | env:ACS_API_KEY`],
    [{ baseUrl: FLAG, env: KEY }, `${FLAG} | flag | - | env:ACS_API_KEY`],
    [{ env: { ...KEY, ACS_BASE_URL: FLAG } }, `${FLAG} | env:ACS_BASE_URL | - | env:ACS_API_KEY`],
    [
      { baseUrl: FLAG, apiKeyFile: 'k', env: KEY },
      `${FLAG} | flag | - | file | ACS_API_KEY is set but not used: --api-key-file gives the key`,
    ],
    [{ baseUrl: FLAG, env: { ...FIRST, ...SECOND } }, `${FLAG} | flag | - | env:OPENHANDS_API_KEY`],
    [{ baseUrl: FLAG, env: SECOND }, `${FLAG} | flag | - | env:OPENHANDS_CLOUD_API_KEY`],
    [{ baseUrl: FLAG, env: { ...KEY, ...FIRST } }, `${FLAG} | flag | - | env:ACS_API_KEY`],
    [
      { profile: 'local', env: KEY },
      'local service | profile:local | local | local | ACS_API_KEY is set but not used: the ' +
        'local service accepts only its own key',
    ],
    [{ profile: 'work', baseUrl: `${WORK}/other` }, `${WORK}/other | flag | work | profile:work`],
    [
      { profile: 'work', baseUrl: `${WORK}:8443`, env: KEY },
      `${WORK}:8443 | flag | - | env:ACS_API_KEY | ${notSent('work', `${WORK}:8443`)}`,
    ],
    [
      { env: { ACS_PROFILE: 'work', ACS_BASE_URL: 'http://work.example' } },
      'http://work.example | env:ACS_BASE_URL | - | none | ' +
        `${notSent('work', 'http://work.example')}`,
    ],
    [{ profile: 'vault', baseUrl: FLAG }, `${FLAG} | flag | - | none | ${notSent('vault', FLAG)}`],
  ])('%j: %s', async (given, expected) => {
    expect(await chosen(given)).toBe(expected);
  });

  it('local with --api-key-file is exit 2', async () => {
    expect((await failure({ profile: 'local', apiKeyFile: 'k' })).code).toBe(2);
  });

  it('an empty OPENHANDS_API_KEY exits 3 when it would be read, and is ignored otherwise', async () => {
    expect(
      (await failure({ baseUrl: 'https://a.example', env: { OPENHANDS_API_KEY: '' } })).code,
    ).toBe(3);
    await expect(plan({ profile: 'work', env: { OPENHANDS_API_KEY: '' } })).resolves.toBeDefined();
  });
});

it('the plan for the local service has no URL', async () => {
  expect(await plan({ profile: 'local' })).toMatchObject({
    base_url: null,
    origin: 'local',
    local: true,
  });
});

describe('the URL of a server', () => {
  it('a URL with credentials is refused and not repeated', async () => {
    const { message, hint } = await failure({ baseUrl: 'https://user:hunter2@acs.example.com' });
    expect(message + hint).not.toContain('hunter2');
    expect(message).toContain('user name or password');
  });

  it.each([
    ['HTTPS://ACS.Example.com:443/team//', 'https://acs.example.com/team'],
    ['https://acs.example.com/team/conversations/abc?tab=x#y', 'https://acs.example.com/team'],
    ['https://acs.example.com/settings', 'https://acs.example.com'],
    ['https://acs.example.com/conversationsx', 'https://acs.example.com/conversationsx'],
  ])('%s is stored as %s', async (baseUrl, stored) => {
    expect((await plan({ baseUrl })).base_url).toBe(stored);
  });
});
