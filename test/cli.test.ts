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

describe('the command line', () => {
  it('prints help and ends well when nothing is asked', async () => {
    for (const args of [[], ['--help'], ['-h']]) {
      const { code, out, err } = await acs(args);
      expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
      expect(out).toMatch(/^Usage: acs /m);
    }
  });

  it('prints the help of a noun without a verb', async () => {
    const { code, out, err } = await acs(['conv']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^Usage: acs conv/m);
  });

  it('prints the version alone', async () => {
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

  it('refuses an unknown flag and points to the help', async () => {
    const { code, out, err } = await acs(['conv', 'list', '--nope']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe("error: unknown option '--nope'\n  see: acs conv list --help\n");
  });

  it('points to the help of the command that is named, wherever a value stands', async () => {
    const before = await acs(['--timeout', '5s', 'conv', 'list']);
    expect(before.code).toBe(2);
    expect(before.err).toContain('\n  see: acs conv list --help\n');
    const after = await acs(['conv', 'show', 'list', '--nope']);
    expect(after.err).toContain('\n  see: acs conv show --help\n');
  });

  it('says a usage error as JSON when JSON was asked for', async () => {
    const { code, out, err } = await acs(['conv', 'list', '--nope', '--json']);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'usage', message: "unknown option '--nope'" } });
  });

  it('names the flag whose value is wrong', async () => {
    const { code, err } = await acs(['conv', 'list', '--request-timeout', 'soon']);
    expect(code).toBe(2);
    expect(err).toContain("option '--request-timeout <duration>' argument 'soon' is invalid");
    expect(err).toContain('5m');
  });

  it('two different formats are exit 2', async () => {
    const { code, err } = await acs(['conv', 'list', '--json', '-q']);
    expect(code).toBe(2);
    expect(err).toContain('name different formats');
  });

  it('refuses --timeout where nothing waits', async () => {
    const { code } = await acs(['conv', 'list', '--timeout', '5m']);
    expect(code).toBe(2);
  });

  it('does not start or assume a server off a terminal', async () => {
    const { code, out, err } = await acs(['conv', 'list']);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    for (const word of ['ACS_BASE_URL', 'ACS_API_KEY', '--profile local']) expect(err).toContain(word);
  });

  it.each([
    ['--request-timeout', '0s'],
    ['--request-timeout', '30'],
    ['--rate', '0'],
    ['--rate', 'Infinity'],
  ])('refuses %s %s before it asks anybody', async (...flag) => {
    const { code, err } = await acs(['conv', 'list', '--base-url', 'http://127.0.0.1:1', ...flag]);
    expect(code).toBe(2);
    expect(err).toContain(`'${flag[1]}' is invalid`);
  });

  it('takes a set but empty variable for a job that lost its variables', async () => {
    const { code, err } = await acs(['conv', 'list'], { env: { ACS_BASE_URL: '' } });
    expect(code).toBe(3);
    expect(err).toContain('ACS_BASE_URL is set but empty');
  });
});
