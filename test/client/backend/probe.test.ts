/** A backend is recognised by what answers, also while the servers behind its ingress start. */
import { describe, expect, it } from 'vitest';
import { NOT_FOUND, type Reply } from '../../support/server.ts';
import { TestClock } from '../../support/test-clock.ts';
import { useWorld } from '../../support/use-world.ts';
import { backend, backendHandler } from '../support/backend-server.ts';

const START_MS = Date.parse('2026-01-01');
let clock: TestClock;
const at = useWorld({
  script: () => NOT_FOUND,
  configPer: 'test',
  clock: () => (clock = new TestClock({ movedBy: 'sleeps', startMs: START_MS })),
});
const NO_FRONT_END: Reply = { status: 503, text: 'No backend configured', type: 'text/plain' };
const PAGE: Reply = { text: '<!doctype html><title>OpenHands</title>', type: 'text/html' };
const STARTING: Reply = { status: 502, text: 'Bad Gateway: connect ECONNREFUSED', type: '' };
const EMPTY: Reply = { json: { items: [], next_page_id: null } };
const seconds = () => (clock.now() - START_MS) / 1000;

describe('a backend', () => {
  at.rows({
    'whoami shows its dialect, its version and what it supports': {
      server: { '/': NO_FRONT_END, '/server_info': backend.reply('server_info') },
      acs: 'whoami --json',
      out: {
        dialect: 'agent',
        dialects: ['agent'],
        version: '1.49.1',
        features: expect.arrayContaining(['settings-schema', 'secrets', 'model-profiles']),
        unknown_features: [],
      },
    },
    'sandbox list exits 12, because conversations run on the machine of the server': {
      server: { '/server_info': backend.reply('server_info') },
      acs: 'sandbox list',
      code: 12,
      err: 'this server has no sandboxes: its conversations run in folders of its own machine',
    },
    'specs list exits 12 with the same sentence': {
      server: { '/server_info': backend.reply('server_info') },
      acs: 'specs list',
      code: 12,
      err: 'this server has no sandboxes',
    },
    'git-provider list exits 12, because git has credentials of its own': {
      server: { '/server_info': backend.reply('server_info') },
      acs: 'git-provider list',
      code: 12,
      err: 'this server has no git providers: git on its machine uses its own credentials',
    },
  });

  const ID = '2fec626dd11742118a8b2ff3cd8b9ef1';
  const PATH = '/conversations/2fec626d-d117-4211-8a8b-2ff3cd8b9ef1';
  const record = { id: PATH.slice('/conversations/'.length), execution_status: 'idle' };

  it('with a front end opens the page of a conversation there, which has the id with dashes', async () => {
    at.server.handler = backendHandler({ '/': PAGE, [`/api${PATH}`]: { json: record } });
    const { out } = await at.ends(`conv open ${ID} --json`, {});
    expect(out).toContain(`${at.server.url}${PATH}`);
  });

  it('without a front end has no page to open: exit 12', async () => {
    at.server.handler = backendHandler({ '/': NO_FRONT_END, [`/api${PATH}`]: { json: record } });
    await at.ends(`conv open ${ID}`, { code: 12, err: 'no page of a conversation' });
  });
});

describe('while the ingress answers 502', () => {
  /** The servers behind the ingress answer from this second on. */
  function startAt(second: number, document: Reply): void {
    const started = backendHandler({ '/api/conversations/search': EMPTY });
    at.server.handler = (asked) => {
      if (seconds() >= second) return started(asked);
      return asked.path === '/openapi.json' ? document : STARTING;
    };
  }

  it.each([
    ['no front end', NO_FRONT_END],
    ['a front end', PAGE],
    ['the same answer for every path', STARTING],
  ])('a command waits for the servers, with a notice, where there is %s', async (_, document) => {
    startAt(40, document);
    const { err } = await at.ends('conv list', { out: '' });
    expect(err).toBe(`${at.server.url} answers 502; acs waits up to 90 s for it to start\n`);
  });

  it('a command that knows the server waits too', async () => {
    startAt(0, PAGE);
    await at.ends('conv list', {});
    startAt(40, PAGE);
    const { err } = await at.ends('conv list', { out: '' });
    expect(err).toContain('answers 502; acs waits up to 90 s for it to start');
    expect(seconds()).toBeGreaterThan(39);
  });

  it('a command ends after 90 s', async () => {
    startAt(Infinity, NO_FRONT_END);
    await at.ends('conv list', { code: 9, err: 'error: the server answered 502' });
    expect(seconds()).toBeGreaterThan(80);
    expect(seconds()).toBeLessThan(95);
  });

  it('whoami asks once', async () => {
    startAt(Infinity, NO_FRONT_END);
    const { err } = await at.ends('whoami', { code: 9, err: 'the server answered 502' });
    expect([err.includes('waits'), seconds() < 5]).toEqual([false, true]);
  });

  it('doctor asks once, and reports the answer', async () => {
    startAt(Infinity, NO_FRONT_END);
    const { items } = JSON.parse((await at.invoke({ args: ['doctor', '--json'] })).out) as {
      items: { id: string; status: string; text: string }[];
    };
    const server = items.find(({ id }) => id === 'server');
    expect(server).toMatchObject({
      status: 'fail',
      text: expect.stringContaining('502') as string,
    });
    expect(seconds()).toBeLessThan(5);
  });
});

describe('doctor at a backend', () => {
  const settings = backend.body('settings.get') as { agent_settings: { llm: object } };
  const checks = async (git: Reply, llm: object) => {
    const { agent_settings: agent } = settings;
    const changed = { ...settings, agent_settings: { ...agent, llm: { ...agent.llm, ...llm } } };
    at.server.handler = backendHandler({
      '/api/settings': { json: changed },
      'POST /api/bash/execute_bash_command': git,
    });
    const { out } = await at.invoke({ args: ['doctor', '--json'] });
    const { items } = JSON.parse(out) as { items: { id: string; status: string; text: string }[] };
    return Object.fromEntries(items.map(({ id, status, text }) => [id, `${status}: ${text}`]));
  };

  it('passes with a model and git on the machine, and skips the sandboxes', async () => {
    const git = { json: { exit_code: 0, stdout: 'git version 2.39.5\n', stderr: '' } };
    expect(await checks(git, { model: 'm/n', base_url: 'http://127.0.0.1:9/v1' })).toMatchObject({
      server: 'pass: agent server 1.49.1',
      model: 'warn: m/n, without a key',
      sandboxes: expect.stringMatching(/^skip: this server has no sandboxes/) as string,
      'server-git': 'pass: git 2.39.5 on its machine',
    });
  });

  it('warns of a server as it is installed, and of a machine without git', async () => {
    const git = { json: { exit_code: 127, stdout: '', stderr: 'git: not found' } };
    expect(await checks(git, {})).toMatchObject({
      model: 'warn: gpt-5.6, without a key and without a URL',
      'server-git': 'warn: its machine has no git',
    });
  });
});
