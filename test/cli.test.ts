import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { invoke, type Invocation } from './support/world.ts';

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'acs-cli-'));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

/** A machine on which nothing is configured. */
function acs(args: string[], rest: Partial<Invocation> = {}) {
  const env = {
    HOME: dir,
    ACS_CONFIG_DIR: path.join(dir, 'config'),
    ACS_DATA_DIR: path.join(dir, 'data'),
    ...rest.env,
  };
  return invoke({ args, cwd: dir, ...rest, env });
}

describe('the root command', () => {
  it('prints its help and exits 0 without arguments', async () => {
    for (const args of [[], ['--help'], ['-h']]) {
      const { code, out, err } = await acs(args);
      expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
      expect(out).toMatch(/^Usage: acs /m);
    }
  });

  it('prints the help of a noun that is given without a verb', async () => {
    const { code, out, err } = await acs(['conv']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Usage: acs conv/m);
  });

  it('prints only the version with --version', async () => {
    const { code, out, err } = await acs(['--version']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^\d+\.\d+\.\d+\S*\n$/);
  });

  it.each([
    [['conv', 'lst'], 'did you mean one of list, ls? See: acs conv --help'],
    [['conv', 'frobnicate'], 'see: acs conv --help'],
    [['-p', 'work', 'settings', 'profile', 'frobnicate', '--json'], 'see: acs settings profile --help'],
    [['cnov'], 'did you mean conv? See: acs --help'],
    [['frobnicate'], 'see: acs --help'],
  ])('an unknown command points to the help of its noun: %j', async (args, hint) => {
    const { code, out, err } = await acs(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(hint);
  });

  it.each([
    [['lst', '--help'], "error: unknown command 'lst'\n  see: acs --help\n"],
    [['conv', 'lst', '-h'], "error: unknown command 'lst'\n  did you mean one of list, ls? See: acs conv --help\n"],
    [
      ['--quiet', 'settings', 'profil', '--help'],
      "error: unknown command 'profil'\n  did you mean profile? See: acs settings --help\n",
    ],
  ])('has no help for a command that is not there: %j', async (args, said) => {
    const { code, out, err } = await acs(args);
    expect({ code, out, err }).toEqual({ code: 2, out: '', err: said });
  });

  it('exits 2 for an unknown flag and names the help', async () => {
    const { code, out, err } = await acs(['conv', 'list', '--nope']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe("error: unknown option '--nope'\n  see: acs conv list --help\n");
  });

  it('names the help of the command, wherever its values stand', async () => {
    const before = await acs(['--timeout', '5s', 'conv', 'list']);
    expect(before.code).toBe(2);
    expect(before.err).toContain('\n  see: acs conv list --help\n');
    const after = await acs(['conv', 'show', 'list', '--nope']);
    expect(after.err).toContain('\n  see: acs conv show --help\n');
  });

  it('prints a usage error as JSON with --json', async () => {
    const { code, out, err } = await acs(['conv', 'list', '--nope', '--json']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage', message: "unknown option '--nope'" } });
  });

  it('names the flag of a wrong value', async () => {
    const { code, err } = await acs(['conv', 'list', '--request-timeout', 'soon']);
    expect(code).toBe(2);
    expect(err).toContain("'soon' is not a value of --request-timeout: it must be a duration such as");
    expect(err).toContain('5m');
  });

  it.each([
    [['api', 'FOO', '/x'], "'FOO' is not a value of METHOD: it must be one of GET, POST"],
    [['git-provider', 'set', 'FOO'], "'FOO' is not a value of provider: it must be one of github, "],
    [['conv', 'list', '-L', "a' is invalid\nb"], "b' is not a value of --limit: it must be a whole number"],
    [['conv', 'list', '--format', ''], "'' is not a value of --format: it must be one of table, "],
  ])('names the argument or the flag of a wrong value of %j', async (args, message) => {
    const { code, err } = await acs(args);
    expect(code).toBe(2);
    expect(err).toContain(message);
    expect(err).not.toContain('command-argument');
  });

  it('two different formats are exit 2', async () => {
    const { code, err } = await acs(['conv', 'list', '--json', '-q']);
    expect(code).toBe(2);
    expect(err).toContain('name different formats');
  });

  it('exits 2 for --timeout of a command that does not wait', async () => {
    const { code } = await acs(['conv', 'list', '--timeout', '5m']);
    expect(code).toBe(2);
  });

  it('exits 3 off a terminal without a server', async () => {
    const { code, out, err } = await acs(['conv', 'list']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    for (const word of ['ACS_BASE_URL', 'ACS_API_KEY', '--profile local']) expect(err).toContain(word);
  });

  it.each([
    ['--request-timeout', '0s'],
    ['--request-timeout', '30'],
    ['--rate', '0'],
    ['--rate', 'Infinity'],
  ])('refuses %s %s before any request', async (...flag) => {
    const { code, err } = await acs(['conv', 'list', '--base-url', 'http://127.0.0.1:1', ...flag]);
    expect(code).toBe(2);
    expect(err).toContain(`'${flag[1]}' is not a value of ${flag[0]}: it must be`);
  });

  it('exits 3 for a variable that is set and empty', async () => {
    const { code, err } = await acs(['conv', 'list'], { env: { ACS_BASE_URL: '' } });
    expect(code).toBe(3);
    expect(err).toContain('ACS_BASE_URL is set but empty');
  });
});
