import { existsSync } from 'node:fs';
import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import type { Asked, Reply } from '../support/server.ts';
import { TestClock, until } from '../support/test-clock.ts';
import { useWorld, type Ending } from '../support/use-world.ts';
import type { Invocation } from '../support/world.ts';

/** The time moves on by each pause, but not by the limit of the probe. */
const clock = () => new TestClock({ movedBy: 'sleeps', limitMs: 60_000 });
const at = useWorld({ target: 'none', clock });
const stores = (): boolean => existsSync(path.join(at.configDir, 'profiles.json'));

const CODE = {
  device_code: 'device-code-of-the-test',
  user_code: 'WDJB-MJHT',
  verification_uri: 'https://cloud.example/device',
  verification_uri_complete: 'https://cloud.example/device?user_code=WDJB-MJHT',
  expires_in: 600,
  interval: 5,
};
const TOKEN = 'POST /oauth/device/token';
const pending: Reply = { status: 400, json: { error: 'authorization_pending', interval: 5 } };
const refused = (error: string): Reply => ({
  status: 400,
  json: { error, error_description: 'in words' },
});
const approved = (key = at.world.service.key): Reply => ({
  json: { access_token: key, token_type: 'Bearer' },
});

interface Flow {
  /** The answer to the request for a code. */
  code?: Reply | object;
  /** The answers to the polls; the last one is repeated. */
  polls?: readonly Reply[];
}

/** Scripts the device flow of a cloud in front of the service. */
function flow({ code = CODE, polls = [pending] }: Flow): void {
  const left = [...polls];
  at.script({
    'POST /oauth/device/authorize':
      'json' in code || 'text' in code || 'status' in code ? code : { json: code },
    [TOKEN]: () => (left.length > 1 ? left.shift() : left[0]) ?? pending,
  });
}

const polled = (): Asked[] =>
  at.server.asked.filter(({ method, path }) => `${method} ${path}` === TOKEN);
const login = (rest = '', clock?: TestClock): Invocation => ({
  args: [
    'login',
    'work',
    '--base-url',
    at.server.url,
    '--device',
    ...rest.split(' ').filter(Boolean),
  ],
  ...(clock ? { clock } : {}),
});

/**
 * Signs in off a terminal. The pauses between polls are in seconds: the limits of the probe are
 * longer.
 */
async function signIn(
  script: Flow,
  ending: Ending & Partial<Invocation> = {},
  rest = '',
  limitMs = 60_000,
) {
  flow(script);
  const clock = new TestClock({ movedBy: 'sleeps', limitMs });
  const ended = await at.ends(login(rest).args, { clock, ...ending });
  const pauses = clock.pauses.filter((ms) => ms >= 1_000 && ms < limitMs).map((ms) => ms / 1_000);
  return { ...ended, pauses };
}

describe('login --device', () => {
  it('prints the address and the code, polls at the interval, tries the key and stores it', async () => {
    const { key } = at.world.service;
    const { err, pauses } = await signIn(
      { polls: [pending, pending, approved()] },
      { out: { name: 'work', key_source: 'profile:work', changed: true }, hides: key },
      '--json',
    );
    const notice =
      `to sign in, open ${CODE.verification_uri_complete} in a browser and check that it ` +
      'shows the code WDJB-MJHT';
    expect(err.split('\n')[0]).toBe(JSON.stringify({ notice }));
    expect(await readFile(path.join(at.configDir, 'profiles.json'), 'utf8')).toContain(key);
    expect(pauses).toEqual([5, 5, 5]);
    const asked = at.server.lines().filter((line) => line.includes('/oauth/'));
    expect(asked).toEqual(['POST /oauth/device/authorize', TOKEN, TOKEN, TOKEN]);
    expect(Object.fromEntries(new URLSearchParams(polled()[0]?.text))).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: CODE.device_code,
    });
  });

  it('prints the address and the code to be entered where the address does not have it', async () => {
    const { verification_uri_complete: _, ...code } = CODE;
    const err = 'open https://cloud.example/device in a browser and enter the code WDJB-MJHT';
    await signIn({ code, polls: [approved()] }, { err });
  });

  it('polls at an interval that is 5 s longer after slow_down, and adopts a longer interval of the server', async () => {
    const slow = refused('slow_down');
    const longer: Reply = { status: 400, json: { error: 'slow_down', interval: 30 } };
    const { pauses } = await signIn({ polls: [slow, slow, pending, longer, pending, approved()] });
    expect(pauses).toEqual([5, 10, 15, 15, 30, 30]);
  });

  it('goes on after a cut connection and after server_error, and reports it once', async () => {
    const polls: Reply[] = [
      { cut: true },
      { status: 500, json: { error: 'server_error' } },
      pending,
      approved(),
    ];
    const { err, pauses } = await signIn({ polls });
    expect(pauses).toEqual([5, 10, 15, 15]);
    expect(err.match(/polling continues/g)).toHaveLength(1);
  });

  it.each<[string, Flow, number[], Ending?]>([
    [
      'exits 4 when the code has expired',
      { code: { ...CODE, expires_in: 12 } },
      [5, 5, 2],
      { err: 'the code expired' },
    ],
    [
      'polls at most once a second',
      { code: { ...CODE, interval: -5, expires_in: 3 }, polls: [refused('authorization_pending')] },
      [1, 1, 1],
    ],
    [
      'uses 5 s and 10 minutes where the server gives neither',
      { code: { ...CODE, interval: undefined, expires_in: undefined } },
      Array.from({ length: 120 }, () => 5),
      { err: 'the code expires after 10m' },
    ],
    [
      'bounds an enormous interval to a minute and an enormous validity to half an hour',
      { code: { ...CODE, interval: 1e300, expires_in: 1e300 } },
      Array.from({ length: 30 }, () => 60),
    ],
  ])('%s, and stores nothing', async (_, script, expected, ending = {}) => {
    const { pauses } = await signIn(script, { code: 4, ...ending }, '', 61_000);
    expect(pauses.filter((seconds) => seconds <= 60)).toEqual(expected);
    expect(stores()).toBe(false);
  });

  it('stores a key that is approved in the last interval', async () => {
    await signIn({ code: { ...CODE, expires_in: 12 }, polls: [pending, pending, approved()] });
    expect(stores()).toBe(true);
  });

  it.each<[string, number, () => Flow, Ending?]>([
    ['access_denied', 4, () => ({ polls: [pending, refused('access_denied')] })],
    ['expired_token', 4, () => ({ polls: [pending, refused('expired_token')] })],
    ['invalid_grant', 4, () => ({ polls: [pending, refused('invalid_grant')] })],
    [
      'an error of a later release',
      9,
      () => ({ polls: [pending, refused('word_of_a_later_release')] }),
    ],
    ['a key that the server refuses', 4, () => ({ polls: [approved('key-that-was-issued')] })],
    ['an approval without a key', 9, () => ({ polls: [{ json: { token_type: 'Bearer' } }] })],
    ['a key that no header can carry', 9, () => ({ polls: [approved('a\nb')] })],
    ['a key that is not a text', 9, () => ({ polls: [{ json: { access_token: 5 } }] })],
    [
      'a connection that is cut until the code expires',
      10,
      () => ({ code: { ...CODE, expires_in: 30 }, polls: [{ cut: true }] }),
      { err: 'nothing was stored' },
    ],
  ])('after %s exits %i and stores nothing', async (_, code, script, ending = {}) => {
    await signIn(script(), { code, out: '', hides: 'key-that-was-issued', ...ending });
    expect(stores()).toBe(false);
  });

  it('exits 10 when an answer is never complete', async () => {
    flow({ polls: [{ starts: '{"access_token":' }] });
    const clock = new TestClock();
    const ended = at.invoke(login('', clock));
    await until(() => clock.pauses.includes(5000));
    await clock.pass(5000);
    await until(() => polled().length === 1);
    await clock.pass(700_000);
    expect((await ended).code).toBe(10);
    expect(stores()).toBe(false);
  });

  it.each<[string, object]>([
    ['without a device code', { device_code: undefined }],
    ['without a user code', { user_code: undefined }],
    ['without an address', { verification_uri: undefined }],
    ['with an interval that is a text', { interval: '5' }],
    ['with a user code that has control characters', { user_code: 'A\u001b]0;x\u0007' }],
    ['with a user code that is empty', { user_code: '' }],
    ['with a javascript: address', { verification_uri_complete: 'javascript:alert(1)' }],
    ['with a file: address', { verification_uri_complete: 'file:///etc/passwd' }],
    [
      'with an address that has control characters',
      { verification_uri_complete: 'https://a.example/\u001b[2J' },
    ],
    [
      'with an address that has a user name',
      { verification_uri_complete: 'https://cloud.example@b.example/' },
    ],
    ['with an address that is none', { verification_uri_complete: '--help' }],
    ['with a device code that has line breaks', { device_code: 'a\r\nb' }],
    ['that is a list', { json: [CODE] }],
  ])('exits 9 for an answer %s, and polls nothing', async (_, members) => {
    await signIn(
      { code: 'json' in members ? members : { ...CODE, ...members } },
      {
        code: 9,
        hides: /[\u0000-\u0009\u000b-\u001f]/,
      },
    );
    expect([polled().length, stores()]).toEqual([0, false]);
  });

  it.each<[string, Reply]>([
    ['404', { status: 404, json: { detail: 'Not Found' } }],
    ['405', { status: 405, json: { detail: 'Method Not Allowed' } }],
    ['the page of a frontend', { type: 'text/html', text: '<!doctype html>' }],
  ])('exits 12 where the request for a code is answered by %s', async (_, code) => {
    await signIn({ code }, { code: 12, err: '--api-key-file' });
    expect([polled().length, stores()]).toEqual([0, false]);
  });

  it('--dry-run prints the request for a code and sends nothing', async () => {
    const request = { method: 'POST', url: `${at.server.url}/oauth/device/authorize`, body: null };
    await signIn(
      {},
      { out: { dry_run: true, requests: [request] }, writes: [] },
      '--dry-run --json',
    );
  });

  it('Ctrl-C ends the wait with 130 and stores nothing', async () => {
    flow({});
    const interrupt = new AbortController();
    const clock = new TestClock();
    const ended = at.invoke({ ...login('', clock), signal: interrupt.signal });
    await until(() => clock.pauses.includes(5000));
    interrupt.abort(new AppError('interrupted', 'interrupted', { exitCode: 130 }));
    expect([(await ended).code, polled().length, stores()]).toEqual([130, 0, false]);
  });

  it('the debug log has neither the device code nor the key', async () => {
    const { err } = await signIn(
      { polls: [pending, approved()] },
      { hides: at.world.service.key },
      '--debug',
    );
    expect(err).toContain('POST');
    expect(err).not.toContain(CODE.device_code);
  });
});

describe('the browser of login --device', () => {
  /** A browser that writes the address it gets into a file. */
  async function browser() {
    const file = `${at.configDir}-opened`;
    const program = path.join(at.dir, await at.file(`${path.basename(file)}.sh`, ''));
    await at.file(
      path.basename(program),
      `#!/bin/sh\nprintf '%s\\n' "$1" > '${file}.part' && mv '${file}.part' '${file}'\n`,
    );
    await chmod(program, 0o755);
    flow({ polls: [pending, approved()] });
    return { file, env: { BROWSER: program } };
  }
  const args = (...rest: string[]) => ['login', 'work', '--base-url', at.server.url, ...rest];

  it('is opened on a terminal, also when the answer is to sign in with a browser', async () => {
    for (const [flags, answers] of [
      [['--device'], []],
      [['-y'], ['browser']],
    ] as const) {
      const { file, env } = await browser();
      await at.ends(args(...flags), { answers, env });
      await until(() => existsSync(file));
      expect(await readFile(file, 'utf8')).toBe(`${CODE.verification_uri_complete}\n`);
    }
  });

  it('is not opened off a terminal', async () => {
    const { file, env } = await browser();
    await at.ends(args('--device'), { env, err: 'WDJB-MJHT' });
    expect(existsSync(file)).toBe(false);
  });

  it('is reported when there is none', async () => {
    await browser();
    const env = { DISPLAY: '', WAYLAND_DISPLAY: '', WSL_DISTRO_NAME: '' };
    await at.ends(args('--device'), { answers: [], env, err: 'no browser was found' });
  });
});
