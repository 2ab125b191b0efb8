import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../support/world.ts';
import {
  doctor,
  forwardTo,
  httpServer,
  httpsServer,
  proxyServer,
  refusedPort,
  silentServer,
  type Diagnosed,
  type SmallServer,
} from './support.ts';

const ALL = [
  ...['store', 'config', 'environment', 'proxy', 'dns', 'tcp', 'tls', 'http', 'clock', 'server', 'key', 'model'],
  ...['sandboxes', 'agent-server', 'local-service', 'isolation', 'node', 'git', 'completion'],
];
const AFTER_HTTP = ['clock', 'server', 'key', 'model', 'sandboxes', 'agent-server'];

let world: World;
let dir: string;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
  dir = await mkdtemp(path.join(tmpdir(), 'acs-doctor-'));
});
afterAll(async () => {
  await world.close();
  await rm(dir, { recursive: true, force: true });
});

/** The server of the world with its key. */
const healthy = () => ({ ACS_BASE_URL: world.service.url, ACS_API_KEY: world.service.key });

async function at(
  server: Promise<SmallServer>,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<Diagnosed> {
  const { url, close } = await server;
  try {
    return await doctor(dir, { args: ['--base-url', url, ...args], env: { ACS_API_KEY: 'the-key-of-a-test', ...env } });
  } finally {
    await close();
  }
}

describe('doctor at a server that works', () => {
  it('has no failed check, and each check once in a fixed order', async () => {
    const { code, out, err, ids, checks } = await doctor(dir, { env: healthy() });
    expect({ code, err, failed: ids('fail') }).toEqual({ code: 0, err: '', failed: [] });
    expect(Object.keys(checks)).toEqual(ALL);
    expect(JSON.parse(out)).toMatchObject({ has_more: false });
    expect(ids('pass')).toEqual(
      expect.arrayContaining(['config', 'proxy', 'dns', 'tcp', 'http', 'clock', 'server', 'key', 'sandboxes', 'git']),
    );
    expect(checks.server?.data).toMatchObject({ dialects: ['v1', 'v0'], flavour: 'local' });
    expect(checks.config?.text).toBe(`${world.service.url} from ACS_BASE_URL; key from ACS_API_KEY`);
    expect(out).not.toContain(world.service.key);
  });

  it('requests the agent server of a running sandbox', async () => {
    const { id } = JSON.parse((await world.acs('sandbox', 'start', '--json')).out) as { id: string };
    const { checks } = await doctor(dir, { env: healthy() });
    expect(checks.sandboxes).toMatchObject({ status: 'pass', data: { running: 1, total: 1 } });
    expect(checks['agent-server']).toMatchObject({ status: 'pass', data: { sandbox_id: id } });
    await world.acs('sandbox', 'pause', id);
    const paused = await doctor(dir, { env: healthy() });
    expect(paused.checks['agent-server']).toMatchObject({ status: 'skip', text: 'no sandbox is running' });
    await world.acs('sandbox', 'delete', '-y', id);
  });

  it('fails when the agent server of a running sandbox cannot be reached, and names the cause', async () => {
    const port = await refusedPort();
    const record = {
      id: 'one',
      status: 'RUNNING',
      exposed_urls: [{ name: 'AGENT_SERVER', url: `http://127.0.0.1:${port}` }],
    };
    const onward = forwardTo(world.service.url);
    const { code, checks } = await at(
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
      { ACS_API_KEY: world.service.key },
    );
    expect(code).toBe(1);
    expect(checks['agent-server']).toMatchObject({
      status: 'fail',
      text: `sandbox one: nothing listens at 127.0.0.1:${port} (connection refused)`,
    });
  });

  it('prints one line for each check on a terminal, with the word besides the symbol, and the sum on stderr', async () => {
    const { code, out, err } = await world.invoke({
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
    const { out } = await world.invoke({ args: ['doctor'], env: { SHELL: undefined } });
    expect(out.split('\n').map((line) => line.split('\t')[0])).toEqual([...ALL, '']);
    expect(out).toContain('\ncompletion\tskip\tSHELL is not set\t\n');
  });
});

describe('doctor at a server that is configured wrongly', () => {
  it('fails key alone when the key is missing or wrong', async () => {
    const missing = await doctor(dir, { args: ['--base-url', world.service.url] });
    expect({ code: missing.code, failed: missing.ids('fail') }).toEqual({ code: 1, failed: ['key'] });
    expect(missing.checks.key).toMatchObject({ text: 'this server asks for a key, and none was given' });
    expect(missing.checks.key?.hint).toContain('--api-key-file');
    const wrong = await doctor(dir, { env: { ...healthy(), ACS_API_KEY: 'not-the-right-key' } });
    expect({ code: wrong.code, failed: wrong.ids('fail') }).toEqual({ code: 1, failed: ['key'] });
    expect(wrong.checks.key?.text).toBe('the server refuses the key from ACS_API_KEY');
    expect(wrong.checks.model?.text).toBe('not checked: key failed');
    expect(wrong.out + wrong.err).not.toContain('not-the-right-key');
  });

  it('fails server when the URL is that of a web page', async () => {
    const page = httpServer((_, outgoing) => outgoing.setHeader('content-type', 'text/html').end('<h1>hello</h1>'));
    const { code, ids, checks } = await at(page);
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['server'] });
    expect(checks.server?.text).toContain('text/html');
    expect(checks.key?.text).toBe('not checked: server failed');
  });

  it('fails http when the server redirects to another origin, and names it', async () => {
    const elsewhere = httpServer((_, outgoing) =>
      outgoing.writeHead(301, { location: 'https://acs.example/x?token=t' }).end(),
    );
    const { checks } = await at(elsewhere);
    expect(checks.http).toMatchObject({ status: 'fail', hint: 'use that URL: https://acs.example' });
  });

  it('fails http when a gateway answers instead of the server', async () => {
    const { ids, checks } = await at(httpServer((_, outgoing) => outgoing.writeHead(502).end()));
    expect(ids('fail')).toEqual(['http']);
    expect(checks.http?.text).toContain('502');
  });

  it('warns of a clock that differs by more than a minute, with the measured value', async () => {
    const behind = (headers: object) => ({ ...headers, date: new Date(Date.now() + 3_600_000).toUTCString() });
    const { code, checks } = await at(httpServer(forwardTo(world.service.url, behind)), {
      ACS_API_KEY: world.service.key,
    });
    expect(code).toBe(0);
    expect(checks.clock?.status).toBe('warn');
    expect(checks.clock?.text).toMatch(/^the clock of this machine is 3[56]\d\d s behind that of the server$/);
    expect(Math.abs(Number(checks.clock?.data?.['skew_seconds']) - 3600)).toBeLessThan(60);
  });

  it('fails config when no server is configured, and skips what needs one', async () => {
    const { code, ids, checks } = await doctor(dir, {});
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['config'] });
    expect(checks.tcp?.text).toBe('not checked: config failed');
    expect(checks.git?.status).toBe('pass');
  });

  it('fails config for a profile that does not exist, and exits with 2 for a list of profiles', async () => {
    const { code, checks } = await doctor(dir, { args: ['-p', 'nowhere'] });
    expect({ code, status: checks.config?.status }).toEqual({ code: 1, status: 'fail' });
    const several = await doctor(dir, { args: ['-p', 'one,two'] });
    expect(several).toMatchObject({ code: 2, out: '' });
  });

  it('warns of variables that contradict each other', async () => {
    const env = { ...healthy(), OPENHANDS_API_KEY: 'another-key', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { checks, out } = await doctor(dir, { env });
    expect(checks.environment?.status).toBe('warn');
    expect(checks.environment?.text).toContain('ACS_API_KEY and OPENHANDS_API_KEY have different keys');
    expect(checks.environment?.text).toContain('no certificate is checked');
    expect(out).not.toContain('another-key');
  });
});

describe('doctor and the profile store', () => {
  const stored = async (name: string, text: string, mode = 0o600): Promise<string> => {
    const folder = path.join(dir, name);
    await mkdir(folder, { mode: 0o700 });
    await writeFile(path.join(folder, 'profiles.json'), text, { mode });
    return folder;
  };
  const text = JSON.stringify({
    default: null,
    profiles: { work: { base_url: 'http://127.0.0.1:1', created_at: '' } },
  });

  it('passes a store that only its owner can read, and counts the profiles', async () => {
    const ACS_CONFIG_DIR = await stored('good', text);
    const { checks } = await doctor(dir, { env: { ...healthy(), ACS_CONFIG_DIR } });
    expect(checks.store).toMatchObject({
      status: 'pass',
      text: `${ACS_CONFIG_DIR}/profiles.json: 1 profile, mode 0600`,
    });
  });

  it('warns of a store that others can read, with the mode it had', async () => {
    const ACS_CONFIG_DIR = await stored('open', text, 0o644);
    const { code, checks } = await doctor(dir, { env: { ...healthy(), ACS_CONFIG_DIR } });
    expect(code).toBe(0);
    expect(checks.store).toMatchObject({ status: 'warn' });
    expect(checks.store?.text).toContain('(mode 0644)');
  });

  it('fails store alone when the file is corrupt', async () => {
    const ACS_CONFIG_DIR = await stored('corrupt', '{');
    const named = await doctor(dir, { env: { ...healthy(), ACS_CONFIG_DIR } });
    expect(named.ids('fail')).toEqual(['store']);
    expect(named.checks.key?.status).toBe('pass');
    const needed = await doctor(dir, { env: { ACS_CONFIG_DIR } });
    expect(needed.ids('fail')).toEqual(['store']);
    expect(needed.checks.config?.text).toBe('not checked: store failed');
    expect(needed.checks.tcp?.text).toBe('not checked: store failed');
  });
});

describe('doctor at a server that cannot be reached', () => {
  it('fails tcp when nothing listens, and skips what comes after it', async () => {
    const port = await refusedPort();
    const { code, ids, checks } = await doctor(dir, { args: ['--base-url', `http://127.0.0.1:${port}`] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['tcp'] });
    expect(checks.tcp?.text).toContain('connection refused');
    for (const id of ['tls', 'http', ...AFTER_HTTP]) expect(checks[id]?.text).toBe('not checked: tcp failed');
  });

  it('fails dns for a name that does not exist', async () => {
    const { code, ids, checks } = await doctor(dir, { args: ['--base-url', 'https://no-such-host.invalid'] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['dns'] });
    expect(checks.dns?.text).toMatch(/^the name no-such-host.invalid /);
  });

  it('fails http when the server accepts connections and sends nothing', async () => {
    const { code, ids, checks } = await at(silentServer(), {}, ['--request-timeout', '300ms']);
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['http'] });
    expect(checks.http?.text).toMatch(/sent nothing for 0\.3 s$/);
  });

  it('ends with 130 when it is interrupted while a server is silent', async () => {
    const { url, close } = await silentServer();
    const interruption = new AbortController();
    const { AppError } = await import('../../../src/errors.ts');
    const ending = world.invoke({
      args: ['doctor', '--base-url', url],
      columns: 80,
      signal: interruption.signal,
      onErr: (text) => {
        if (text.includes('http')) interruption.abort(new AppError('interrupted', 'interrupted', { exitCode: 130 }));
      },
    });
    const { code, out } = await ending;
    await close();
    expect({ code, out }).toEqual({ code: 130, out: '' });
  });

  it('passes with the local profile while its service is not running, and does not start it', async () => {
    const { code, ids, checks } = await doctor(dir, { args: ['-p', 'local'] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 0, failed: [] });
    expect(checks.http?.text).toBe('not checked: the local service is not running');
    expect(checks['local-service']).toMatchObject({ status: 'pass', data: { running: false } });
  });
});

describe('doctor over TLS', () => {
  const ok = (): Parameters<typeof httpsServer>[1] => forwardTo(world.service.url);

  it('fails tls for a certificate of an unknown authority, and names NODE_EXTRA_CA_CERTS', async () => {
    const { ids, checks } = await at(httpsServer('valid.pem', ok()));
    expect(ids('fail')).toEqual(['tls']);
    expect(checks.tls?.text).toBe('the certificate by "acs test" is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(checks.tls?.hint).toContain('NODE_EXTRA_CA_CERTS');
    expect(checks.http?.text).toBe('not checked: tls failed');
  });

  it('fails tls for a certificate that has expired, with the date', async () => {
    const { ids, checks } = await at(httpsServer('expired.pem', ok()));
    expect(ids('fail')).toEqual(['tls']);
    expect(checks.tls?.text).toBe('the certificate has expired on 2021-01-01T00:00:00.000Z');
  });

  it('fails tls when the port does not speak TLS', async () => {
    const { url, close } = await httpServer(ok());
    const { ids } = await doctor(dir, { args: ['--base-url', url.replace('http:', 'https:')] });
    await close();
    expect(ids('fail')).toEqual(['tls']);
  });
});

describe('doctor with a proxy', () => {
  it('passes when the proxy connects; name and port of the server are its business', async () => {
    const proxy = await proxyServer('connects');
    const server = await httpServer(forwardTo(world.service.url));
    const { port } = server;
    const env = {
      ...healthy(),
      ACS_BASE_URL: `http://acs.invalid:${port}`,
      HTTP_PROXY: proxy.url.replace('//', '//me:hush-hush@'),
    };
    const { code, ids, checks, out, err } = await doctor(dir, { env });
    await Promise.all([proxy.close(), server.close()]);
    expect({ code, failed: ids('fail') }).toEqual({ code: 0, failed: [] });
    expect(checks.proxy).toMatchObject({ status: 'pass', data: { proxy: proxy.url, variable: 'HTTP_PROXY' } });
    expect(checks.dns?.status).toBe('skip');
    expect(checks.key?.status).toBe('pass');
    expect(proxy.asked[0]).toBe(`acs.invalid:${port}`);
    expect(proxy.keys[0]).toBe(`Basic ${Buffer.from('me:hush-hush').toString('base64')}`);
    expect(out + err).not.toMatch(/hush-hush/);
  });

  it('makes the TLS handshake with the server through the proxy', async () => {
    const [proxy, server] = await Promise.all([
      proxyServer('connects'),
      httpsServer('expired.pem', (_, outgoing) => outgoing.end()),
    ]);
    const { ids, checks } = await doctor(dir, {
      args: ['--base-url', `https://acs.invalid:${server.port}`],
      env: { HTTPS_PROXY: proxy.url },
    });
    await Promise.all([proxy.close(), server.close()]);
    expect(ids('fail')).toEqual(['tls']);
    expect(checks.tls?.text).toBe('the certificate has expired on 2021-01-01T00:00:00.000Z');
  });

  it('fails proxy when the proxy refuses, asks for a password, or is not there', async () => {
    for (const [status, text] of [
      [403, /does not connect to acs.invalid:80 \(it answered 403\)$/],
      [407, /asks for a user name and password \(407\)$/],
    ] as const) {
      const proxy = await proxyServer(status);
      const { ids, checks } = await doctor(dir, {
        args: ['--base-url', 'http://acs.invalid'],
        env: { http_proxy: proxy.url },
      });
      await proxy.close();
      expect(ids('fail')).toEqual(['proxy']);
      expect(checks.proxy?.text).toMatch(text);
    }
    const env = { HTTPS_PROXY: `http://127.0.0.1:${await refusedPort()}` };
    const { ids, checks } = await doctor(dir, { args: ['--base-url', 'https://acs.invalid'], env });
    expect(ids('fail')).toEqual(['proxy']);
    expect(checks.proxy?.text).toMatch(/^nothing listens at the proxy /);
  });

  it('fails proxy when the variable is not a URL of a proxy', async () => {
    for (const HTTP_PROXY of ['proxy:3128:1', 'socks5://127.0.0.1:1']) {
      const { checks } = await doctor(dir, { args: ['--base-url', 'http://acs.invalid'], env: { HTTP_PROXY } });
      expect(checks.proxy?.status).toBe('fail');
      expect(checks.proxy?.hint).toContain('HTTP_PROXY');
    }
  });

  it('never uses the proxy for a server on this machine', async () => {
    const { checks } = await doctor(dir, { env: { ...healthy(), HTTP_PROXY: 'http://proxy.invalid:1' } });
    expect(checks.proxy).toMatchObject({ status: 'pass', text: 'not used: the server is on this machine' });
    expect(checks.key?.status).toBe('pass');
  });
});
