import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import type { Ended } from '../../support/world.ts';
import { runAnswered } from '../conv/on-terminal.ts';
import { approved, CODE, deviceServer, pending, refusedWith, type DeviceServer, type Script } from './device-server.ts';
import { useMachine } from './support.ts';

const machine = useMachine();
const { acs, stored, store } = machine;

let server: DeviceServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

/** The time moves on by each pause. @param limitMs the limit of the probe, which is not to end */
const newClock = (limitMs = 60_000): TestClock => new TestClock({ movedBy: 'sleeps', limitMs });

async function cloud(script: Script): Promise<DeviceServer> {
  server = await deviceServer(machine.world.service.url, script);
  return server;
}

/** Signs in at a scripted server, off a terminal. */
async function signIn(script: Script, ...args: string[]): Promise<SignedIn> {
  return signInWith(newClock(), script, ...args);
}

type SignedIn = Ended & { clock: TestClock; at: DeviceServer };

async function signInWith(clock: TestClock, script: Script, ...args: string[]): Promise<SignedIn> {
  const at = await cloud(script);
  const ended = await acs(['login', 'work', '--base-url', at.url, '--device', ...args], { clock });
  return { ...ended, clock, at };
}

/** Pauses between polls, in seconds: those of a repeated request are shorter, the limits of the probe are longer. */
const pauses = ({ pauses: all }: TestClock, mostMs = 59_999): number[] =>
  all.filter((ms) => ms >= 1000 && ms <= mostMs).map((ms) => ms / 1000);

describe('login --device', () => {
  it('prints the address and the code, polls at the interval, tries the key and stores it', async () => {
    const { key } = machine.world.service;
    const { code, out, err, clock, at } = await signIn({ polls: [pending, pending, approved(key)] }, '--json');
    expect({ code, err: err.split('\n')[0] }).toEqual({
      code: 0,
      err: JSON.stringify({
        notice: `to sign in, open ${CODE.verification_uri_complete} in a browser and check that it shows the code WDJB-MJHT`,
      }),
    });
    expect(JSON.parse(out)).toMatchObject({ name: 'work', key_source: 'profile:work', changed: true });
    expect(out + err).not.toContain(key);
    expect(stored().profiles.work).toMatchObject({ base_url: at.url, key });
    expect(pauses(clock)).toEqual([5, 5, 5]);
    expect(at.asked).toEqual([
      'POST /oauth/device/authorize',
      ...Array.from({ length: 3 }, () => 'POST /oauth/device/token'),
    ]);
    expect(Object.fromEntries(at.forms[0] ?? [])).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: CODE.device_code,
    });
  });

  it('prints the address and the code to be entered where the address does not have it', async () => {
    const { verification_uri_complete: _, ...body } = CODE;
    const { code, err } = await signIn({ authorize: { body }, polls: [approved(machine.world.service.key)] });
    expect(code).toBe(0);
    expect(err).toContain('open https://cloud.example/device in a browser and enter the code WDJB-MJHT');
  });

  it('polls at an interval that is 5 s longer after slow_down, and adopts a longer interval of the server', async () => {
    const slow = refusedWith('slow_down');
    const longer = { status: 400, body: { error: 'slow_down', interval: 30 } };
    const { code, clock } = await signIn({
      polls: [slow, slow, pending, longer, pending, approved(machine.world.service.key)],
    });
    expect([code, pauses(clock)]).toEqual([0, [5, 10, 15, 15, 30, 30]]);
  });

  it.each<[string, number]>([
    ['access_denied', 4],
    ['expired_token', 4],
    ['invalid_grant', 4],
    ['word_of_a_later_release', 9],
  ])('exits after %s with code %i, and stores nothing', async (error, exitCode) => {
    const { code, at } = await signIn({ polls: [pending, refusedWith(error)] });
    expect([code, at.forms.length]).toEqual([exitCode, 2]);
    expect(existsSync(store())).toBe(false);
  });

  it('exits 4 when the code has expired, after a last poll', async () => {
    const { code, err, clock, at } = await signIn({ authorize: { body: { ...CODE, expires_in: 12 } } });
    expect([code, pauses(clock), at.forms.length]).toEqual([4, [5, 5, 2], 3]);
    expect(err).toContain('the code expired before it was approved');
    expect(existsSync(store())).toBe(false);
  });

  it('stores a key that is approved in the last interval', async () => {
    const polls = [pending, pending, approved(machine.world.service.key)];
    const { code } = await signIn({ authorize: { body: { ...CODE, expires_in: 12 } }, polls });
    expect(code).toBe(0);
  });

  it('goes on after a cut connection and after server_error, and reports it once', async () => {
    const polls = [{ cut: true } as const, { status: 500, body: { error: 'server_error' } }, pending];
    const { code, err, clock } = await signIn({ polls: [...polls, approved(machine.world.service.key)] });
    expect([code, pauses(clock)]).toEqual([0, [5, 10, 15, 15]]);
    expect(err.match(/goes on asking/g)).toHaveLength(1);
  });

  it('exits 10 when the connection is cut until the code expires, and stores nothing', async () => {
    const { code, err } = await signIn({ authorize: { body: { ...CODE, expires_in: 30 } }, polls: [{ cut: true }] });
    expect([code, err]).toEqual([10, expect.stringContaining('nothing was stored')]);
    expect(existsSync(store())).toBe(false);
  });

  it('exits 10 when an answer is never complete', async () => {
    const at = await cloud({ polls: [{ body: '{"access_token":', drips: true }] });
    const clock = new TestClock();
    const ended = acs(['login', 'work', '--base-url', at.url, '--device'], { clock });
    await until(() => clock.pauses.includes(5000));
    await clock.pass(5000);
    await until(() => at.forms.length === 1);
    await clock.pass(700_000);
    expect((await ended).code).toBe(10);
    expect(existsSync(store())).toBe(false);
  });

  it('bounds an enormous interval to a minute and an enormous validity to half an hour', async () => {
    const body = { ...CODE, interval: 1e300, expires_in: 1e300 };
    const { code, clock } = await signInWith(newClock(61_000), { authorize: { body } });
    expect([code, pauses(clock, 60_000)]).toEqual([4, Array.from({ length: 30 }, () => 60)]);
  });

  it('polls at most once a second where the interval is zero or negative', async () => {
    const polls = [refusedWith('authorization_pending')];
    const { clock } = await signIn({ authorize: { body: { ...CODE, interval: -5, expires_in: 3 } }, polls });
    expect(pauses(clock)).toEqual([1, 1, 1]);
  });

  it('uses an interval of 5 s and a validity of 10 minutes where the server gives none', async () => {
    const { interval: _, expires_in: __, ...body } = CODE;
    const { code, clock, err } = await signIn({ authorize: { body } });
    expect([code, pauses(clock).length]).toEqual([4, 120]);
    expect(err).toContain('the code expires after 10m');
  });

  it.each<[string, unknown]>([
    ['without a device code', { ...CODE, device_code: undefined }],
    ['without a user code', { ...CODE, user_code: undefined }],
    ['without an address', { ...CODE, verification_uri: undefined }],
    ['with an interval that is a text', { ...CODE, interval: '5' }],
    ['that is a list', [CODE]],
    ['with a user code that has control characters', { ...CODE, user_code: 'A\u001b]0;x\u0007' }],
    ['with a user code that is empty', { ...CODE, user_code: '' }],
    ['with a javascript: address', { ...CODE, verification_uri_complete: 'javascript:alert(1)' }],
    ['with a file: address', { ...CODE, verification_uri_complete: 'file:///etc/passwd' }],
    [
      'with an address that has control characters',
      { ...CODE, verification_uri_complete: 'https://a.example/\u001b[2J' },
    ],
    [
      'with an address that has a user name',
      { ...CODE, verification_uri_complete: 'https://cloud.example@b.example/' },
    ],
    ['with an address that is none', { ...CODE, verification_uri_complete: '--help' }],
    ['with a device code that has line breaks', { ...CODE, device_code: 'a\r\nb' }],
  ])('exits 9 for an answer %s, and polls nothing', async (_, body) => {
    const { code, err, at } = await signIn({ authorize: { body } });
    expect([code, at.forms.length], err).toEqual([9, 0]);

    expect(err).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    expect(existsSync(store())).toBe(false);
  });

  it.each<[string, unknown]>([
    ['without a key', { token_type: 'Bearer' }],
    ['with a key that no header can carry', { access_token: 'a\nb' }],
    ['with a key that is not a text', { access_token: 5 }],
  ])('exits 9 for an approval %s, and stores nothing', async (_, body) => {
    const { code, out, err } = await signIn({ polls: [{ body }] });
    expect([code, out], err).toEqual([9, '']);
    expect(existsSync(store())).toBe(false);
  });

  it('exits 4 when the server refuses the key that it has issued, and stores nothing', async () => {
    const { code, out, err } = await signIn({ polls: [approved('key-that-was-issued')] });
    expect([code, err]).toEqual([4, expect.stringContaining('the server refuses the key from the sign-in')]);
    expect(out + err).not.toContain('key-that-was-issued');
    expect(existsSync(store())).toBe(false);
  });

  it.each<[string, Script]>([
    ['404', { document: 'none', authorize: { status: 404, body: { detail: 'Not Found' } } }],
    ['405', { document: 'none', authorize: { status: 405, body: { detail: 'Method Not Allowed' } } }],
    ['the page of a frontend', { document: 'none', authorize: { type: 'text/html', body: '<!doctype html>' } }],
  ])('exits 12 where no document is served and the request for a code is answered by %s', async (_, script) => {
    const { code, err, at } = await signIn(script);
    expect([code, err, at.asked]).toEqual([12, expect.stringContaining('--api-key-file'), [expect.any(String)]]);
    expect(existsSync(store())).toBe(false);
  });

  it('--dry-run prints the request for a code and sends nothing', async () => {
    const { code, out, at } = await signIn({}, '--dry-run', '--json');
    expect([code, at.asked]).toEqual([0, []]);
    expect(JSON.parse(out)).toEqual({
      dry_run: true,
      requests: [{ method: 'POST', url: `${at.url}/oauth/device/authorize`, body: null }],
    });
  });

  it('Ctrl-C ends the wait with 130 and stores nothing', async () => {
    const at = await cloud({});
    const interrupt = new AbortController();
    const clock = new TestClock();
    const { AppError } = await import('../../../src/errors.ts');
    const ended = acs(['login', 'work', '--base-url', at.url, '--device'], { clock, signal: interrupt.signal });
    await until(() => clock.pauses.includes(5000));
    interrupt.abort(new AppError('interrupted', 'interrupted', { exitCode: 130 }));
    expect((await ended).code).toBe(130);
    expect(at.forms).toHaveLength(0);
    expect(existsSync(store())).toBe(false);
  });

  it('the debug log has neither the device code nor the key', async () => {
    const { key } = machine.world.service;
    const { code, err } = await signIn({ polls: [pending, approved(key)] }, '--debug');
    expect(code).toBe(0);
    expect(err).toContain('POST');
    expect(err).not.toContain(CODE.device_code);
    expect(err).not.toContain(key);
  });
});

describe('the browser of login --device', () => {
  async function browser(): Promise<{ file: string; env: Record<string, string> }> {
    const { dir } = machine.world;
    const file = path.join(dir, `opened-${path.basename(machine.configDir)}`);
    const program = path.join(dir, `browser-${path.basename(machine.configDir)}`);
    await writeFile(program, `#!/bin/sh\nprintf '%s\\n' "$1" > '${file}.part' && mv '${file}.part' '${file}'\n`);
    await chmod(program, 0o755);
    return { file, env: { BROWSER: program } };
  }

  async function onTerminal(args: string[], env: Record<string, string>, answers: string[] = []) {
    const { world, configDir } = machine;
    const at = await cloud({ polls: [pending, approved(world.service.key)] });
    const all = { ...world.env, ACS_BASE_URL: undefined, ACS_API_KEY: undefined, ACS_CONFIG_DIR: configDir, ...env };
    const command = { world: { env: all, home: world.home }, cwd: world.dir, clock: newClock() };
    return await runAnswered({ ...command, args: ['login', 'work', '--base-url', at.url, ...args] }, answers);
  }

  it('is opened on a terminal', async () => {
    const { file, env } = await browser();
    const { code, err } = await onTerminal(['--device'], env);
    expect(code, err).toBe(0);
    await until(() => existsSync(file));
    expect(await readFile(file, 'utf8')).toBe(`${CODE.verification_uri_complete}\n`);
  });

  it('is opened when the answer is to sign in with a browser', async () => {
    const { file, env } = await browser();
    expect((await onTerminal([], env, ['browser'])).code).toBe(0);
    await until(() => existsSync(file));
    expect(stored().profiles.work?.key).toBe(machine.world.service.key);
  });

  it('is not opened with --no-browser, nor off a terminal', async () => {
    const { file, env } = await browser();
    const { code, err } = await onTerminal(['--device', '--no-browser'], env);
    expect([code, err]).toEqual([0, expect.stringContaining('WDJB-MJHT')]);
    const at = server?.url ?? '';
    const args = ['login', 'work', '--base-url', at, '--device', '--replace'];
    expect((await acs(args, { env, clock: newClock() })).code).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it('reports that there is none', async () => {
    const { code, err } = await onTerminal(['--device'], { DISPLAY: '', WAYLAND_DISPLAY: '', WSL_DISTRO_NAME: '' });
    expect([code, err]).toEqual([0, expect.stringContaining('no browser was found')]);
  });
});
