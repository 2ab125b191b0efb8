import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { doctor, forwardTo, httpServer, refusedPort, useDoctorWorld } from './support.ts';

const ALL = [
  ...['store', 'config', 'environment', 'proxy', 'dns', 'tcp', 'tls', 'http', 'clock', 'server', 'key', 'model'],
  ...['sandboxes', 'agent-server', 'local-service', 'isolation', 'node', 'git', 'completion'],
];

const here = useDoctorWorld();

describe('doctor at a server that works', () => {
  it('has no failed check, and each check once in a fixed order', async () => {
    const { code, out, err, ids, checks } = await doctor(here.dir, { env: here.healthy() });
    expect({ code, err, failed: ids('fail') }).toEqual({ code: 0, err: '', failed: [] });
    expect(Object.keys(checks)).toEqual(ALL);
    expect(JSON.parse(out)).toMatchObject({ has_more: false });
    expect(ids('pass')).toEqual(
      expect.arrayContaining(['config', 'proxy', 'dns', 'tcp', 'http', 'clock', 'server', 'key', 'sandboxes', 'git']),
    );
    expect(checks.server?.data).toMatchObject({ dialects: ['v1', 'v0'], flavour: 'local' });
    expect(checks.config?.text).toBe(`${here.world.service.url} from ACS_BASE_URL; key from ACS_API_KEY`);
    expect(out).not.toContain(here.world.service.key);
  });

  it('requests the agent server of a running sandbox', async () => {
    const { id } = JSON.parse((await here.world.acs('sandbox', 'start', '--json')).out) as { id: string };
    const { checks } = await doctor(here.dir, { env: here.healthy() });
    expect(checks.sandboxes).toMatchObject({ status: 'pass', data: { running: 1, total: 1 } });
    expect(checks['agent-server']).toMatchObject({ status: 'pass', data: { sandbox_id: id } });
    await here.world.acs('sandbox', 'pause', id);
    const paused = await doctor(here.dir, { env: here.healthy() });
    expect(paused.checks['agent-server']).toMatchObject({ status: 'skip', text: 'no sandbox is running' });
    await here.world.acs('sandbox', 'delete', '-y', id);
  });

  it('fails when the agent server of a running sandbox cannot be reached, and names the cause', async () => {
    const port = await refusedPort();
    const record = {
      id: 'one',
      status: 'RUNNING',
      exposed_urls: [{ name: 'AGENT_SERVER', url: `http://127.0.0.1:${port}` }],
    };
    const onward = forwardTo(here.world.service.url);
    const { code, checks } = await here.at(
      httpServer((incoming, outgoing) => {
        if (!incoming.url?.startsWith('/api/v1/sandboxes/search')) return onward(incoming, outgoing);
        const sandbox = {
          ...record,
          created_by_user_id: null,
          sandbox_spec_id: 'process',
          session_api_key: null,
          created_at: '2026-01-01T00:00:00Z',
        };
        outgoing
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ items: [sandbox], next_page_id: null }));
      }),
      { ACS_API_KEY: here.world.service.key },
    );
    expect(code).toBe(1);
    expect(checks['agent-server']).toMatchObject({
      status: 'fail',
      text: `sandbox one: nothing listens at 127.0.0.1:${port} (connection refused)`,
    });
  });

  it('prints one line for each check on a terminal, with the word besides the symbol, and the sum on stderr', async () => {
    const { code, out, err } = await here.world.invoke({
      args: ['doctor', '--no-color'],
      columns: 80,
      env: { SHELL: '/bin/tcsh' },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^✓ pass {2}config {9}http:/m);
    expect(out).toMatch(/^- skip {2}completion {5}there is no completion for tcsh$/m);
    expect(err).toMatch(/\d+ passed, \d+ warnings?, 0 failed, \d+ skipped\n$/);
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });

  it('prints id, status, text and hint as tsv in a pipe', async () => {
    const { out } = await here.world.invoke({ args: ['doctor'], env: { SHELL: undefined } });
    expect(out.split('\n').map((line) => line.split('\t')[0])).toEqual([...ALL, '']);
    expect(out).toContain('\ncompletion\tskip\tSHELL is not set\t\n');
  });
});

describe('doctor at a server that is configured wrongly', () => {
  it('fails key alone when the key is missing or wrong', async () => {
    const missing = await doctor(here.dir, { args: ['--base-url', here.world.service.url] });
    expect({ code: missing.code, failed: missing.ids('fail') }).toEqual({ code: 1, failed: ['key'] });
    expect(missing.checks.key).toMatchObject({ text: 'this server asks for a key, and none was given' });
    expect(missing.checks.key?.hint).toContain('--api-key-file');
    const wrong = await doctor(here.dir, { env: { ...here.healthy(), ACS_API_KEY: 'not-the-right-key' } });
    expect({ code: wrong.code, failed: wrong.ids('fail') }).toEqual({ code: 1, failed: ['key'] });
    expect(wrong.checks.key?.text).toBe('the server refuses the key from ACS_API_KEY');
    expect(wrong.checks.model?.text).toBe('not checked: key failed');
    expect(wrong.out + wrong.err).not.toContain('not-the-right-key');
  });

  it('fails server when the URL is that of a web page', async () => {
    const page = httpServer((_, outgoing) => outgoing.setHeader('content-type', 'text/html').end('<h1>hello</h1>'));
    const { code, ids, checks } = await here.at(page);
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['server'] });
    expect(checks.server?.text).toContain('text/html');
    expect(checks.key?.text).toBe('not checked: server failed');
  });

  it('fails http when the server redirects to another origin, and names it', async () => {
    const elsewhere = httpServer((_, outgoing) =>
      outgoing.writeHead(301, { location: 'https://acs.example/x?token=t' }).end(),
    );
    const { checks } = await here.at(elsewhere);
    expect(checks.http).toMatchObject({ status: 'fail', hint: 'use that URL: https://acs.example' });
  });

  it('fails http when a gateway answers instead of the server', async () => {
    const { ids, checks } = await here.at(httpServer((_, outgoing) => outgoing.writeHead(502).end()));
    expect(ids('fail')).toEqual(['http']);
    expect(checks.http?.text).toContain('502');
  });

  it.each([
    ['server', 'answers every request with 500', (outgoing: ServerResponse) => outgoing.writeHead(500).end()],
    ['http', 'ends the connection without an answer', (outgoing: ServerResponse) => outgoing.destroy()],
  ])('fails %s with a next step when the server %s', async (id, _what, answer) => {
    const { ids, checks } = await here.at(httpServer((_, outgoing) => answer(outgoing)));
    expect(ids('fail')).toEqual([id]);
    expect(checks[id]?.hint).toContain('the log of the server');
  });

  it('warns of a clock that differs by more than a minute, with the measured value', async () => {
    const behind = (headers: object) => ({ ...headers, date: new Date(Date.now() + 3_600_000).toUTCString() });
    const { code, checks } = await here.at(httpServer(forwardTo(here.world.service.url, behind)), {
      ACS_API_KEY: here.world.service.key,
    });
    expect(code).toBe(0);
    expect(checks.clock?.status).toBe('warn');
    expect(checks.clock?.text).toMatch(/^the clock of this machine is 3[56]\d\d s behind that of the server$/);
    expect(Math.abs(Number(checks.clock?.data?.['skew_seconds']) - 3600)).toBeLessThan(60);
  });

  it('fails config when no server is configured, and skips what needs one', async () => {
    const { code, ids, checks } = await doctor(here.dir, {});
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['config'] });
    expect(checks.tcp?.text).toBe('not checked: config failed');
    expect(checks.git?.status).toBe('pass');
  });

  it('fails config for a profile that does not exist, and exits with 2 for a list of profiles', async () => {
    const { code, checks } = await doctor(here.dir, { args: ['-p', 'nowhere'] });
    expect({ code, status: checks.config?.status }).toEqual({ code: 1, status: 'fail' });
    const several = await doctor(here.dir, { args: ['-p', 'one,two'] });
    expect(several).toMatchObject({ code: 2, out: '' });
  });

  it('warns of variables that contradict each other', async () => {
    const env = { ...here.healthy(), OPENHANDS_API_KEY: 'another-key', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { checks, out } = await doctor(here.dir, { env });
    expect(checks.environment?.status).toBe('warn');
    expect(checks.environment?.text).toContain('ACS_API_KEY and OPENHANDS_API_KEY have different keys');
    expect(checks.environment?.text).toContain('no certificate is checked');
    expect(out).not.toContain('another-key');
  });
});
