import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { useWorld, type Ending } from '../support/use-world.ts';
import type { Invocation } from '../support/world.ts';

const CLOSED = 'http://127.0.0.1:9';
const at = useWorld({
  target: 'none',
  clock: () => new TestClock({ movedBy: 'sleeps', limitMs: 60_000 }),
});
const store = () => path.join(at.configDir, 'profiles.json');
const stored = () =>
  JSON.parse(readFileSync(store(), 'utf8')) as {
    default: string | null;
    profiles: Record<string, { key?: string }>;
  };

let url: string;
let key: string;
beforeEach(() => ({ url, key } = at.world.service));

/** Stores a profile without a request to its server. */
const bare = (name: string, base = `https://${name}.example`) =>
  at.ends(`login ${name} --base-url ${base} --no-check`, {});
const withKey = (line: string, ending: Ending = {}) =>
  at.ends(`login ${line} --api-key-file -`, { stdin: `${key}\n`, hides: key, ...ending });
/** On a terminal. */
const asks = (
  line: string,
  answers: (string | boolean)[],
  ending: Ending & Partial<Invocation> = {},
) => at.ends(`login ${line}`, { answers, hides: key, ...ending });

describe('login off a terminal', () => {
  it('tries the key from stdin, stores it with mode 0600, and does not print it', async () => {
    await withKey(`work --base-url ${url} --json`, {
      out: {
        name: 'work',
        base_url: url,
        default: true,
        key_source: 'profile:work',
        changed: true,
      },
      err: '{"notice":"\\"work\\" is the default profile"}\n',
    });
    expect(stored().profiles['work']).toMatchObject({ base_url: url, key });
    const mode = (file: string) => (statSync(file).mode & 0o777).toString(8);
    expect([mode(at.configDir), mode(store())]).toEqual(['700', '600']);
    await at.ends('specs list', {});
  });

  it('warns of a key that is an ordinary word', async () => {
    const err =
      'warning: the value of the key cannot be distinguished from ordinary words, so it is ' +
      'not masked in text';
    await at.ends(`login work --base-url ${url} --no-check --api-key-file -`, {
      stdin: 'test\n',
      err,
    });
  });

  it('takes the name from --profile', async () => {
    await withKey(`-p work --base-url ${url}`);
    expect(Object.keys(stored().profiles)).toEqual(['work']);
  });

  it('tries ACS_API_KEY when no key is given, and does not store it', async () => {
    await at.ends(`login work --base-url ${url}`, { env: { ACS_API_KEY: key } });
    expect(readFileSync(store(), 'utf8')).not.toContain(key);
  });

  it('stores a command that prints the key, which is run for each command', async () => {
    await at.file('key', `${key}\n`);
    const args = [
      'login',
      'work',
      '--base-url',
      url,
      '--key-command',
      `cat ${at.dir}/key`,
      '--json',
    ];
    await at.ends(args, { out: { key_source: 'command' } });
    await at.ends('specs list', {});
    await at.file('key', '');
    await at.ends('specs list', { code: 3, err: 'the key that the command printed is empty' });
  });

  it('stores a key for a profile without one, exits 6 for one that has a key or another URL, and -y replaces it', async () => {
    await bare('work', url);
    await withKey('work');
    await withKey('work', { code: 6, err: 'with -y' });
    await withKey('work -y');
    await at.ends('login work --base-url https://new.example --no-check', { code: 6 });
    expect(stored().profiles['work']).toMatchObject({ base_url: url, key });
  });

  it('reports which server commands use instead of the new profile', async () => {
    await bare('first');
    for (const [env, err] of [
      [{}, 'the default profile is "first"; use this profile with -p work'],
      [{ ACS_PROFILE: 'first' }, 'ACS_PROFILE is set to "first"; use this profile with'],
      [
        { ACS_BASE_URL: url, ACS_API_KEY: key },
        'ACS_BASE_URL is set and takes precedence; use this profile with -p work',
      ],
    ] as const)
      await at.ends(`login work --base-url ${url} --api-key-file - -y`, { stdin: key, env, err });
  });

  it('--no-check stores a profile of a server that does not answer', async () => {
    await at.ends(`login work --base-url ${CLOSED} --no-check`, {});
    expect(stored()).toMatchObject({ default: 'work', profiles: { work: { base_url: CLOSED } } });
  });

  const SERVER = '--base-url https://a.example';
  it.each<[string, number, string, Ending?]>([
    ['without name and server', 2, '', { err: 'missing: the argument <name> and --base-url' }],
    ['without a server', 2, 'work', { err: 'missing: --base-url' }],
    ['without a name', 2, `${SERVER} --device`, { err: 'missing: the argument <name>' }],
    ['for a URL without a scheme', 2, 'work --base-url acs.example.com --device'],
    ['for a name with a comma', 2, `a,b ${SERVER} --device`],
    ['for a key and --device', 2, `work ${SERVER} --device --api-key-file k`],
    ['for two names', 2, `work -p home ${SERVER} --device`],
    ['for two sources of a key', 2, `work ${SERVER} --api-key-file k --key-command c`],
    ['for a URL of the local service', 2, `local ${SERVER}`],
    ['without a key that the server requires', 4, 'work --base-url URL', { err: '--api-key-file' }],
    [
      'for a refused key',
      4,
      'work --base-url URL --api-key-file wrong',
      {
        err: [
          'the server refuses the key from --api-key-file',
          'nothing was stored; the URL comes from --base-url',
        ],
      },
    ],
    ['for a server that does not answer', 10, `work --base-url ${CLOSED}`],
    ['with --device for a server that does not answer', 10, `work --base-url ${CLOSED} --device`],
    [
      'with --dry-run',
      0,
      'work --base-url URL --api-key-file right --dry-run --json',
      { out: { requests: [] } },
    ],
    [
      'for local, which needs no login',
      0,
      'local --json',
      { out: { name: 'local', changed: false }, err: 'needs no login' },
    ],
  ])('%s exits %i and stores nothing', async (_, code, line, ending = {}) => {
    await at.file('wrong', 'wrong-key');
    await at.file('right', key);
    await at.ends(`login ${line.replace('URL', url)}`, { code, hides: 'wrong-key', ...ending });
    expect(existsSync(store())).toBe(false);
  });

  it.each([
    ['--key-command', ' '],
    ['--api-key-file', ''],
  ])('exits 2 for an empty value of %s', async (...flag) => {
    await at.ends(['login', 'work', ...SERVER.split(' '), ...flag], { code: 2 });
    expect(existsSync(at.configDir)).toBe(false);
  });
});

describe('login on a terminal', () => {
  it('prompts for the server, its URL, the name and the key', async () => {
    await asks('', ['url', url, 'work', key], {
      questions: [
        'Server [OpenHands Cloud (app.all-hands.dev) | another server, by its URL | the ' +
          'local service (needs no login)]',
        'URL of the server',
        'Name of the profile',
        'Key (empty: none)',
      ],
    });
    expect(stored().profiles['work']).toMatchObject({ base_url: url, key });
  });

  it('repeats the prompt for a URL without a server, takes https for a host alone and http for one of this machine, and suggests the host as the name', async () => {
    const { host } = new URL(url);
    // Another name of this machine, which is not one of its loopback hosts.
    const other = host.replace('127.0.0.1', '0.0.0.0');
    const answers = ['url', 'not a url', other, CLOSED, host, 'local', '', key];
    const { questions } = await asks('', answers);
    expect(questions.slice(1)).toEqual([
      'URL of the server',
      'URL of the server this is not a URL; give one such as https://acs.example.com',
      expect.stringMatching(
        `^URL of the server the TLS connection to ${other} failed .*; the port does not speak TLS`,
      ),
      expect.stringMatching('^URL of the server nothing listens at 127.0.0.1:9 '),
      'Name of the profile',
      expect.stringMatching('^Name of the profile "local" is the built-in profile'),
      'Key (empty: none)',
    ]);
    expect(Object.keys(stored().profiles)).toEqual([host.replace(':', '-')]);
  });

  it('takes the URL of a page for its server, and tries a given URL before it prompts for the key', async () => {
    await asks('', ['url', `${url}/conversations/abc?once=x`, 'work', key]);
    expect(stored().profiles['work']).toMatchObject({ base_url: url });
    at.script(() => ({ text: 'a page', type: 'text/html' }));
    await asks(`other --base-url ${at.server.url}`, [], {
      code: 9,
      err: 'is not an OpenHands server',
    });
  });

  it('prompts before it replaces a key, and not after logout', async () => {
    const questions = ['Key (empty: none)'];
    await asks(`work --base-url ${url} --debug`, [key], { questions, err: 'GET' });
    await asks('work', [false], {
      code: 2,
      questions: [`Replace profile "work" (${url}) and its key?`],
    });
    await asks('work', [true, key]);
    await asks('work -y', [key], { questions });
    await at.ends('logout work', {});
    await asks('work', [key], { questions });
    expect(stored().profiles['work']?.key).toBe(key);
  });

  it('prompts for a refused key again, exits 4 after the third, and stores nothing', async () => {
    const line = `work --base-url ${url}`;
    await asks(line, ['wrong-key', '', 'wrong-key'], {
      code: 4,
      err: 'refuses the key from the prompt',
      hides: 'wrong-key',
      questions: [
        'Key (empty: none)',
        'Key (empty: none) the server refuses the key from the prompt',
        'Key (empty: none) the server requires an API key',
      ],
    });
    expect(existsSync(store())).toBe(false);
    await asks(line, ['wrong-key', key]);
    expect(stored().profiles['work']?.key).toBe(key);
  });

  it('offers the browser where the server has a device flow, and takes a key instead', async () => {
    const code = {
      device_code: 'd',
      user_code: 'WDJB-MJHT',
      verification_uri: 'https://cloud.example/device',
    };
    at.script({ 'POST /oauth/device/authorize': { json: { ...code, expires_in: 600 } } });
    const questions = ['Sign in with [a browser | a key]', 'Key (empty: none)'];
    await asks(`work --base-url ${at.server.url}`, ['key', key], {
      questions,
      writes: ['POST /oauth/device/authorize'],
    });
  });

  it.each<[string, number, string, string[]]>([
    ['for the local service', 0, '', ['local']],
    ['with --no-input', 2, '--no-input', []],
    [
      'for a server that does not answer, before the prompt for the key,',
      10,
      `work --base-url ${CLOSED}`,
      [],
    ],
  ])('%s exits %i and stores nothing', async (_, code, line, answers) => {
    const { questions } = await asks(line, answers, { code });
    expect([questions.length, existsSync(store())]).toEqual([answers.length, false]);
  });
});

describe('logout', () => {
  it('removes the stored key, and keeps the profile and the default', async () => {
    await withKey(`work --base-url ${url}`);
    await at.ends('logout --dry-run --json', { out: { dry_run: true, requests: [] } });
    expect(stored().profiles['work']?.key).toBe(key);
    const out = { name: 'work', base_url: url, default: true, key_source: null, changed: true };
    await at.ends('logout work --json', { out });
    expect(readFileSync(store(), 'utf8')).not.toContain(key);
    expect(stored()).toMatchObject({ default: 'work', profiles: { work: { base_url: url } } });
    await at.ends('specs list', { code: 4 });
    await at.ends('logout work --json', { out: { changed: false } });
  });

  it.each<[string, string, Record<string, string>]>([
    ['the default', '', {}],
    ['that of ACS_PROFILE', '', { ACS_PROFILE: 'work' }],
    ['that of --profile', '-p work', {}],
  ])('without a name takes the profile: %s', async (from, flags, env) => {
    await withKey(`work --base-url ${url}`);
    if (from !== 'the default') {
      await bare('other');
      await at.ends('profile use other', {});
    }
    await at.ends(`logout ${flags}`, { env });
    expect(stored().profiles['work']?.key).toBeUndefined();
  });

  it.each([
    ['no profile is active', 2, ''],
    ['the profile does not exist', 5, 'work'],
    ['two names are given', 2, 'work -p home'],
    ['it is local, which has no login', 0, 'local'],
  ])('when %s exits %i and stores nothing', async (_, code, line) => {
    await at.ends(`logout ${line}`, { code });
    expect(existsSync(at.configDir)).toBe(false);
  });

  it('reports the variable that commands use now', async () => {
    await withKey(`work --base-url ${url}`);
    const env = { OPENHANDS_API_KEY: 'other-key' };
    const err = 'OPENHANDS_API_KEY is set, and is used with profile "work" now\n';
    await at.ends('logout work', { env, err, hides: 'other-key' });
  });

  it('keeps the command that prints the key, and reports it', async () => {
    await at.ends(
      [
        'login',
        'work',
        '--base-url',
        'https://a.example',
        '--key-command',
        'cat key',
        '--no-check',
      ],
      {},
    );
    await at.ends('logout work --json', {
      out: { changed: false, key_source: 'command' },
      err: 'gets its key from a command',
    });
    expect(stored().profiles['work']).toMatchObject({ key_command: 'cat key' });
  });

  it('exits 3 for a store that cannot be read, and does not change it', async () => {
    await withKey(`work --base-url ${url}`);
    writeFileSync(store(), '{');
    await at.ends('logout work', { code: 3 });
    expect(readFileSync(store(), 'utf8')).toBe('{');
  });
});
