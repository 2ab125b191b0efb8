import { existsSync, readFileSync, statSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { runAnswered, type Asked } from '../conv/on-terminal.ts';
import { deviceServer, type DeviceServer, type Script } from './device-server.ts';
import { useMachine } from './support.ts';

const machine = useMachine();
const { acs, stored, store, bare } = machine;

let server: DeviceServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

async function cloud(script: Script): Promise<DeviceServer> {
  server = await deviceServer(machine.world.service.url, script);
  return server;
}

/** Runs `acs login` on a terminal; each question gets the next of the answers. */
function onTerminal(
  args: string[],
  answers: (string | boolean)[],
  env: Record<string, string | undefined> = {},
): Promise<Asked> {
  const { world, configDir } = machine;
  const all = { ...world.env, ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_CONFIG_DIR: configDir, ...env };
  const command = { world: { env: all, home: world.home }, cwd: world.dir, args: ['login', ...args] };
  return runAnswered(command, answers);
}

const withKey = (...args: string[]) =>
  acs(['login', ...args, '--api-key-file', '-'], { stdin: `${machine.world.service.key}\n` });

describe('login off a terminal', () => {
  it('tries the key from stdin, stores it with mode 0600, and does not print it', async () => {
    const { url, key } = machine.world.service;
    const { code, out, err } = await withKey('work', '--base-url', url, '--json');
    expect({ code, record: JSON.parse(out) as unknown }).toEqual({
      code: 0,
      record: {
        name: 'work',
        base_url: url,
        default: true,
        key_source: 'profile:work',
        created_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        changed: true,
      },
    });
    expect(err).toBe('{"notice":"\\"work\\" is the default profile"}\n');
    expect(out + err).not.toContain(key);
    expect(stored().profiles.work).toMatchObject({ base_url: url, key });
    expect((statSync(store()).mode & 0o777).toString(8)).toBe('600');
  });

  it.each<[string, string[], string[]]>([
    ['everything', [], ['acs login <name>', '--base-url', '--api-key-file', '--device']],
    ['the server and the key', ['work'], ['--base-url', '--api-key-file']],
    ['the key', ['work', '--base-url', 'https://a.example'], ['--api-key-file']],
    ['the name', ['--base-url', 'https://a.example', '--device'], ['acs login <name>']],
  ])('exits 2 without %s and names what gives it', async (_, args, named) => {
    const { code, err } = await acs(['login', ...args]);
    expect(code).toBe(2);
    for (const each of named) expect(err).toContain(each);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it.each<[string, string[]]>([
    ['with a URL that is none', ['work', '--base-url', 'acs.example.com', '--device']],
    ['with a name that cannot be one', ['a,b', '--base-url', 'https://a.example', '--device']],
    ['with a key and --device', ['work', '--base-url', 'https://a.example', '--device', '--api-key-file', 'k']],
    ['with two names', ['work', '-p', 'home', '--base-url', 'https://a.example', '--device']],
    ['with an empty path of the key', ['work', '--base-url', 'https://a.example', '--api-key-file', '']],
    ['with a URL for the local service', ['local', '--base-url', 'https://a.example']],
  ])('exits 2 %s', async (_, args) => {
    expect((await acs(['login', ...args])).code).toBe(2);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it('exits 4 for a refused key, stores nothing, and does not repeat the key', async () => {
    const args = ['login', 'work', '--base-url', machine.world.service.url, '--api-key-file', '-'];
    const { code, out, err } = await acs(args, { stdin: 'wrong-key' });
    expect(code).toBe(4);
    expect(err).toContain('the server refuses the key from --api-key-file -');
    expect(err).toContain('nothing was stored');
    expect(out + err).not.toContain('wrong-key');
    expect(existsSync(store())).toBe(false);
  });

  it('exits 10 for a server that does not answer, and stores nothing', async () => {
    expect((await withKey('work', '--base-url', 'http://127.0.0.1:9')).code).toBe(10);
    expect((await acs(['login', 'work', '--base-url', 'http://127.0.0.1:9', '--device'])).code).toBe(10);
    expect(existsSync(store())).toBe(false);
  });

  it('exits 6 for an existing profile, and --replace replaces its key and keeps its URL', async () => {
    await bare('work', machine.world.service.url);
    const refused = await withKey('work');
    expect([refused.code, refused.err]).toEqual([6, expect.stringContaining('--replace')]);
    expect(stored().profiles.work?.key).toBeUndefined();
    expect((await withKey('work', '--replace')).code).toBe(0);
    expect(stored().profiles.work).toMatchObject({
      base_url: machine.world.service.url,
      key: machine.world.service.key,
    });
  });

  it('takes the name from --profile', async () => {
    expect((await withKey('-p', 'work', '--base-url', machine.world.service.url)).code).toBe(0);
    expect(Object.keys(stored().profiles)).toEqual(['work']);
  });

  it('--dry-run tries the key and stores nothing', async () => {
    const args = ['work', '--base-url', machine.world.service.url, '--dry-run', '--json'];
    expect(await withKey(...args)).toMatchObject({ code: 0, out: '{"dry_run":true,"requests":[]}\n' });
    expect(existsSync(store())).toBe(false);
  });

  it('exits 12 for --device where the document has no device flow, before it requests a code', async () => {
    const { url, asked } = await cloud({ document: false });
    const { code, err } = await acs(['login', 'work', '--base-url', url, '--device']);
    expect([code, err]).toEqual([12, expect.stringContaining('--api-key-file')]);
    expect(asked).toEqual([]);
    expect(existsSync(store())).toBe(false);
  });

  it('reports which server commands use instead of the new profile', async () => {
    const { url, key } = machine.world.service;
    await bare('first');
    const args = ['login', 'work', '--base-url', url, '--api-key-file', '-'];
    const errOf = async (env: Record<string, string>) => (await acs([...args, '--replace'], { stdin: key, env })).err;
    expect(await errOf({})).toContain('the default profile is "first"; use this profile with -p work');
    expect(await errOf({ ACS_PROFILE: 'first' })).toContain('ACS_PROFILE is set to "first"; use this profile with');
    expect(await errOf({ ACS_BASE_URL: url, ACS_API_KEY: key })).toContain(
      'ACS_BASE_URL and ACS_API_KEY are set and take precedence; use this profile with -p work',
    );
    expect(await errOf({ ACS_API_KEY: key })).toContain('ACS_API_KEY is set, and is not used with profile "work"');
  });

  it('exits 0 for local, which needs no login, and changes nothing', async () => {
    const { code, out, err } = await acs(['login', 'local', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ name: 'local', changed: false })]);
    expect(err).toContain('needs no login');
    expect(existsSync(machine.configDir)).toBe(false);
  });
});

describe('login on a terminal', () => {
  it('prompts for the server, its URL, the name and the key', async () => {
    const { url, key } = machine.world.service;
    const asked = await onTerminal([], ['url', url, 'work', key]);
    expect(asked.questions).toEqual([
      'Server [OpenHands Cloud (app.all-hands.dev) | another server, by its URL | the local service (needs no login)]',
      'URL of the server',
      'Name of the profile',
      'Key (empty: none)',
    ]);
    expect(asked.code, asked.err).toBe(0);
    expect(asked.out + asked.err).not.toContain(key);
    expect(stored().profiles.work).toMatchObject({ base_url: url, key });
  });

  it('repeats the prompt after an answer that is not valid, and suggests the host as the name', async () => {
    const { url, key } = machine.world.service;
    const asked = await onTerminal([], ['url', 'not a url', url, 'local', '', key]);
    expect(asked.questions.slice(1)).toEqual([
      'URL of the server',
      'URL of the server the URL has no scheme',
      'Name of the profile',
      'Name of the profile "local" is the built-in profile of the local service',
      'Key (empty: none)',
    ]);
    expect(Object.keys(stored().profiles)).toEqual([new URL(url).host.replace(':', '-')]);
  });

  it('prompts only for what no flag gives', async () => {
    const { url, key } = machine.world.service;
    const asked = await onTerminal(['work', '--base-url', url], [key]);
    expect([asked.code, asked.questions]).toEqual([0, ['Key (empty: none)']]);
  });

  it('stores nothing for the local service', async () => {
    const asked = await onTerminal([], ['local']);
    expect([asked.code, asked.err]).toEqual([0, 'the local service needs no login; use it with --profile local\n']);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it('prompts before it replaces a profile, and signs in again at its URL', async () => {
    const { url, key } = machine.world.service;
    await bare('work', url);
    const refused = await onTerminal(['work'], [false]);
    expect([refused.code, refused.questions]).toEqual([2, [`Replace profile "work" (${url}) and its key?`]]);
    expect(stored().profiles.work?.key).toBeUndefined();
    expect((await onTerminal(['work'], [true, key])).code).toBe(0);
    expect((await onTerminal(['work', '-y'], [key])).questions).toEqual(['Key (empty: none)']);
    expect(stored().profiles.work?.key).toBe(key);
  });

  it('exits 4 for a refused key, and stores nothing', async () => {
    const asked = await onTerminal(['work', '--base-url', machine.world.service.url], ['wrong-key']);
    expect([asked.code, asked.err]).toEqual([4, expect.stringContaining('refuses the key from your answer')]);
    expect(asked.err).not.toContain('wrong-key');
    expect(existsSync(store())).toBe(false);
  });

  it('exits 10 for a server that does not answer, before the prompt for the key', async () => {
    const asked = await onTerminal(['work', '--base-url', 'http://127.0.0.1:9'], []);
    expect([asked.code, asked.questions]).toEqual([10, []]);
  });

  it('offers the browser where the server has a device flow, and takes a key instead', async () => {
    const { url, asked } = await cloud({});
    const ended = await onTerminal(['work', '--base-url', url], ['key', machine.world.service.key]);
    expect(ended.questions).toEqual(['Sign in with [a browser | a key]', 'Key (empty: none)']);
    expect([ended.code, asked]).toEqual([0, []]);
  });

  it('does not prompt with --no-input', async () => {
    const asked = await onTerminal(['--no-input'], []);
    expect([asked.code, asked.questions]).toEqual([2, []]);
    expect(existsSync(machine.configDir)).toBe(false);
  });

  it('does not write the key to the debug log', async () => {
    const { url, key } = machine.world.service;
    const asked = await onTerminal(['work', '--base-url', url, '--debug'], [key]);
    expect(asked.err).toContain('GET');
    expect(asked.out + asked.err).not.toContain(key);
    expect(readFileSync(store(), 'utf8')).toContain(key);
  });
});
