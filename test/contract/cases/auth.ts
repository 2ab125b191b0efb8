/** Who may ask, what the server turns out to be, and how it slows callers down. */
import { expect } from 'vitest';
import { errorOf, expectCode, json, ok, relayTo } from '../support.ts';
import { TestClock } from '../../support/test-clock.ts';
import type { ContractCase } from '../target.ts';

/** The two forms there are: of a server of one's own, and of the cloud. */
const LIMITS: { form: string; headers: Record<string, string>; body: object }[] = [
  { form: 'its own', headers: { 'retry-after': '1' }, body: { message: 'Too many requests' } },
  {
    form: "the cloud's",
    headers: {
      'retry-after': '1',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '1',
    },
    body: { error: 'Rate limit exceeded: 10 per 1 second' },
  },
];

const asks = (request: string): boolean => /^GET \/api\/.*conversations/.test(request);

export const AUTH: ContractCase[] = [
  {
    name: 'whoami reports the dialect of the server',
    async run(target) {
      const me = json<{
        dialect: string;
        dialects: string[];
        features: string[];
        key_source: string;
      }>(await ok(target, 'whoami', '--json'));
      expect(me.dialects).toEqual(target.dialects);
      expect(me.features).toEqual(expect.arrayContaining(['events', 'secrets']));
      expect(me.features.includes('sandboxes')).toBe(target.dialects.includes('v1'));
      expect(me.key_source).toBe('env:ACS_API_KEY');
    },
  },
  {
    name: 'doctor finds no failure, and names the dialects of the server',
    async run(target) {
      const { items } = json<{
        items: { id: string; status: string; text: string; data: unknown }[];
      }>(await ok(target, 'doctor', '--json'));
      expect(items.filter(({ status }) => status === 'fail')).toEqual([]);
      const passed = items.filter(({ status }) => status === 'pass').map(({ id }) => id);
      expect(passed).toEqual(expect.arrayContaining(['config', 'connection', 'clock', 'key']));
      expect(items.find(({ id }) => id === 'server')?.data).toMatchObject({
        dialects: target.dialects,
      });
    },
  },
  {
    name: 'doctor fails the check of a wrong key alone',
    async run(target) {
      const env = { ACS_API_KEY: 'not-the-right-key', ACS_CONFIG_DIR: `${target.dir}/wrong-key` };
      const ended = expectCode(await target.invoke({ args: ['doctor', '--json'], env }), 1);
      const { items } = JSON.parse(ended.out) as { items: { id: string; status: string }[] };
      expect(items.filter(({ status }) => status === 'fail').map(({ id }) => id)).toEqual(['key']);
      expect(ended.err + ended.out).not.toContain('not-the-right-key');
    },
  },
  {
    name: 'a wrong key is exit 4, and shown nowhere',
    async run(target) {
      const commands = ['whoami', 'conv list', 'settings get'];
      if (!target.dialects.includes('agent')) commands.push('sandbox list');
      for (const command of commands) {
        const env = { ACS_API_KEY: 'not-the-right-key', ACS_CONFIG_DIR: `${target.dir}/wrong-key` };
        const ended = await target.invoke({
          args: [...command.split(' '), '--json', '--debug'],
          env,
        });
        expectCode(ended, 4, command);
        expect(errorOf(ended).code).toBe('auth');
        expect(ended.err + ended.out).not.toContain('not-the-right-key');
      }
    },
  },
  {
    name: 'a missing key is exit 4, with the ways to give one',
    async run(target) {
      const env = { ACS_API_KEY: undefined, ACS_CONFIG_DIR: `${target.dir}/no-key` };
      const ended = expectCode(await target.invoke({ args: ['conv', 'list', '--json'], env }), 4);
      expect(errorOf(ended).hint).toMatch(/ACS_API_KEY/);
    },
  },
  {
    name: 'login tries the key, stores it and prints it nowhere; logout removes it',
    async run(target) {
      const { key } = target;
      const env = {
        ACS_BASE_URL: undefined,
        ACS_API_KEY: undefined,
        ACS_CONFIG_DIR: `${target.dir}/login`,
      };
      const login = [
        'login',
        'work',
        '--base-url',
        target.env['ACS_BASE_URL'] ?? '',
        '--api-key-file',
        '-',
        '--json',
      ];
      expectCode(await target.invoke({ args: login, env, stdin: 'not-the-right-key' }), 4);
      expectCode(await target.invoke({ args: ['-p', 'work', 'conv', 'list'], env }), 3);
      const stored = expectCode(await target.invoke({ args: login, env, stdin: `${key}\n` }), 0);
      expect(json(stored)).toMatchObject({
        name: 'work',
        key_source: 'profile:work',
        changed: true,
      });
      expect(stored.out + stored.err).not.toContain(key);
      expectCode(await target.invoke({ args: ['conv', 'list'], env }), 0);
      expectCode(await target.invoke({ args: ['logout'], env }), 0);
      expectCode(await target.invoke({ args: ['conv', 'list'], env }), 4);
    },
  },
  {
    name: 'login --device is exit 12 where the server has no device flow, and stores nothing',
    async run(target) {
      const { relay, env } = await relayTo(target);
      try {
        const config = { ...env, ACS_API_KEY: undefined, ACS_CONFIG_DIR: `${target.dir}/device` };
        const args = ['login', 'work', '--base-url', relay.url, '--device', '--json'];
        const ended = await target.invoke({ args, env: config });
        // An ingress without a front end answers 503 to a route that no service has.
        if (target.dialects.includes('agent')) expectCode(ended, 9);
        else expect(errorOf(expectCode(ended, 12)).hint).toContain('--api-key-file');
        const writes = relay.requests.filter((request) => !request.startsWith('GET '));
        expect(new Set(writes)).toEqual(new Set(['POST /oauth/device/authorize']));
        expectCode(await target.invoke({ args: ['profile', 'show', 'work'], env: config }), 5);
      } finally {
        await relay.close();
      }
      return 'unsupported';
    },
  },
  {
    name: 'a key that is no longer valid is exit 4',
    async run(target) {
      await ok(target, 'conv', 'list');
      // Some servers answer V1 routes whatever the key is.
      const commands = [
        'conv list',
        ...(target.dialects.includes('v1') ? ['sandbox list', 'specs list'] : []),
      ];
      for (const command of commands) {
        const args = [...command.split(' '), '--json'];
        expectCode(
          await target.invoke({ args, env: { ACS_API_KEY: 'changed-since' } }),
          4,
          command,
        );
      }
    },
  },
  {
    name: 'many calls at once all succeed within the rate limit of the server',
    async run(target) {
      await ok(target, 'conv', 'list'); // what the server is, is asked once and remembered
      const calls = Array.from({ length: 30 }, () =>
        target.invoke({ args: ['conv', 'list', '--json'], env: { ACS_RATE: '1000' } }),
      );
      for (const ended of await Promise.all(calls)) expectCode(ended, 0);
    },
  },
  ...LIMITS.map(({ form, headers, body }): ContractCase => ({
    name:
      `a server that limits requests (${form}): the request is repeated after the time that ` +
      'it names, and is exit 7 when the limit remains',
    async run(target) {
      const limited = { status: 429, headers, body };
      const args = ['conv', 'list', '--json'];
      // The limits are those of the relay, which has no clock: the pauses between requests need no
      // real seconds.
      const clock = new TestClock({ movedBy: 'sleeps', startMs: Date.now() });
      const once = await relayTo(target, {
        answer: (request, count) => (asks(request) && count === 0 ? limited : null),
      });
      const always = await relayTo(target, {
        answer: (request) => (asks(request) ? limited : null),
      });
      try {
        expectCode(await target.invoke({ args, clock, env: once.env }), 0);
        expect(once.relay.requests.filter(asks).length).toBeGreaterThan(1);
        const ended = expectCode(await target.invoke({ args, clock, env: always.env }), 7);
        expect(errorOf(ended)).toMatchObject({ code: 'rate-limited' });
        expect(always.relay.requests.filter(asks).length).toBeGreaterThan(3);
      } finally {
        await Promise.all([once.relay.close(), always.relay.close()]);
      }
    },
  })),
];
