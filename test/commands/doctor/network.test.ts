import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { judgeCertificate } from '../../../src/commands/doctor/network.ts';
import type { Handshake } from '../../../src/servers/reach/reach.ts';
import { start } from '../../e2e/processes.ts';
import { until } from '../../support/until.ts';
import {
  type CheckJson,
  doctor,
  forwardTo,
  httpServer,
  httpsServer,
  proxyServer,
  refusedPort,
  silentServer,
  tlsFile,
  useDoctorWorld,
} from './support.ts';

const AFTER_HTTP = ['clock', 'server', 'key', 'model', 'sandboxes', 'agent-server'];

const here = useDoctorWorld();

const NOW = Date.parse('2030-06-15T12:00:00Z');
const DAY = 24 * 3_600_000;
const handshake: Handshake = {
  refusal: null,
  issuer: 'An Authority',
  validFromMs: NOW - 30 * DAY,
  validToMs: NOW + 60 * DAY,
  protocol: 'TLSv1.3',
};
const judged = (changes: Partial<Handshake>) => judgeCertificate({ ...handshake, ...changes }, 'acs.example', NOW);

describe('a certificate', () => {
  it('passes while it is accepted and valid for more than two weeks', () => {
    expect(judged({})).toMatchObject({ status: 'pass', data: { valid_to: '2030-08-14T12:00:00.000Z' } });
    expect(judged({ validToMs: NOW + 14 * DAY }).status).toBe('pass');
  });

  it('is a warning with the days that are left when it expires sooner', () => {
    expect(judged({ validToMs: NOW + 14 * DAY - 1 })).toMatchObject({
      status: 'warn',
      text: 'the certificate expires in 13 days',
    });
    expect(judged({ validToMs: NOW + 1 }).status).toBe('warn');
  });

  it('fails when it has expired, is not valid yet, is for another name, or is not trusted', () => {
    expect(judged({ validToMs: NOW })).toMatchObject({ status: 'fail', hint: 'renew it on the server' });
    expect(judged({ validFromMs: NOW + 1 })).toMatchObject({ status: 'fail', hint: 'check the clock of this machine' });
    expect(judged({ refusal: 'ERR_TLS_CERT_ALTNAME_INVALID' }).text).toBe('the certificate is not for acs.example');
    expect(judged({ refusal: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' }).hint).toContain('NODE_EXTRA_CA_CERTS');
  });
});

describe('doctor as a process', () => {
  const env = () => {
    const { dir } = here;
    return { PATH: process.env.PATH, HOME: dir, ACS_CONFIG_DIR: dir, ACS_DATA_DIR: path.join(dir, 'none') };
  };

  it('passes tls for an authority that NODE_EXTRA_CA_CERTS names', async () => {
    const { url, close } = await httpsServer('valid.pem', (_, outgoing) => outgoing.end('{}'));
    const { ended } = start(['doctor', '--json', '--base-url', url], {
      env: { ...env(), NODE_EXTRA_CA_CERTS: tlsFile('valid.pem') },
    });
    const { items } = JSON.parse((await ended).out) as { items: CheckJson[] };
    await close();
    expect(items.find(({ id }) => id === 'tls')).toMatchObject({ status: 'pass', data: { issuer: 'acs test' } });
    expect(items.find(({ id }) => id === 'http')).toMatchObject({ status: 'pass', data: { status: 200 } });
  });

  it('exits with 130 at Ctrl-C while a server is silent, and prints nothing to stdout', async () => {
    let connections = 0;
    const { url, close } = await silentServer(() => (connections += 1));
    const { child, ended } = start(['doctor', '--base-url', url], { env: env() });
    // The first connection is that of tcp, the second waits for an answer.
    await until(() => connections > 1);
    child.kill('SIGINT');
    const { code, out } = await ended;
    await close();
    expect({ code, out }).toEqual({ code: 130, out: '' });
  });
});

describe('doctor at a server that cannot be reached', () => {
  it('fails tcp when nothing listens, and skips what comes after it', async () => {
    const port = await refusedPort();
    const { code, ids, checks } = await doctor(here.dir, { args: ['--base-url', `http://127.0.0.1:${port}`] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['tcp'] });
    expect(checks.tcp?.text).toContain('connection refused');
    for (const id of ['tls', 'http', ...AFTER_HTTP]) expect(checks[id]?.text).toBe('not checked: tcp failed');
  });

  it('fails dns for a name that does not exist', async () => {
    const { code, ids, checks } = await doctor(here.dir, { args: ['--base-url', 'https://no-such-host.invalid'] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['dns'] });
    expect(checks.dns?.text).toMatch(/^the name no-such-host.invalid /);
  });

  it('fails http when the server accepts connections and sends nothing', async () => {
    const { code, ids, checks } = await here.at(silentServer(), {}, ['--request-timeout', '300ms']);
    expect({ code, failed: ids('fail') }).toEqual({ code: 1, failed: ['http'] });
    expect(checks.http?.text).toMatch(/sent nothing for 0\.3 s$/);
  });

  it('ends with 130 when it is interrupted while a server is silent', async () => {
    const { url, close } = await silentServer();
    const interruption = new AbortController();
    const { AppError } = await import('../../../src/errors.ts');
    const ending = here.world.invoke({
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
    const { code, ids, checks } = await doctor(here.dir, { args: ['-p', 'local'] });
    expect({ code, failed: ids('fail') }).toEqual({ code: 0, failed: [] });
    expect(checks.http?.text).toBe('not checked: the local service is not running');
    expect(checks['local-service']).toMatchObject({ status: 'pass', data: { running: false } });
  });
});

describe('doctor over TLS', () => {
  const ok = (): Parameters<typeof httpsServer>[1] => forwardTo(here.world.service.url);

  it('fails tls for a certificate of an unknown authority, and names NODE_EXTRA_CA_CERTS', async () => {
    const { ids, checks } = await here.at(httpsServer('valid.pem', ok()));
    expect(ids('fail')).toEqual(['tls']);
    expect(checks.tls?.text).toBe('the certificate by "acs test" is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(checks.tls?.hint).toContain('NODE_EXTRA_CA_CERTS');
    expect(checks.http?.text).toBe('not checked: tls failed');
  });

  it('fails tls for a certificate that has expired, with the date', async () => {
    const { ids, checks } = await here.at(httpsServer('expired.pem', ok()));
    expect(ids('fail')).toEqual(['tls']);
    expect(checks.tls?.text).toBe('the certificate has expired on 2021-01-01T00:00:00.000Z');
  });

  it('fails tls when the port does not speak TLS', async () => {
    const { url, close } = await httpServer(ok());
    const { ids } = await doctor(here.dir, { args: ['--base-url', url.replace('http:', 'https:')] });
    await close();
    expect(ids('fail')).toEqual(['tls']);
  });
});

describe('doctor with a proxy', () => {
  it('passes when the proxy connects; name and port of the server are its business', async () => {
    const proxy = await proxyServer('connects');
    const server = await httpServer(forwardTo(here.world.service.url));
    const { port } = server;
    const env = {
      ...here.healthy(),
      ACS_BASE_URL: `http://acs.invalid:${port}`,
      HTTP_PROXY: proxy.url.replace('//', '//me:hush-hush@'),
    };
    const { code, ids, checks, out, err } = await doctor(here.dir, { env });
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
    const { ids, checks } = await doctor(here.dir, {
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
      const { ids, checks } = await doctor(here.dir, {
        args: ['--base-url', 'http://acs.invalid'],
        env: { http_proxy: proxy.url },
      });
      await proxy.close();
      expect(ids('fail')).toEqual(['proxy']);
      expect(checks.proxy?.text).toMatch(text);
    }
    const env = { HTTPS_PROXY: `http://127.0.0.1:${await refusedPort()}` };
    const { ids, checks } = await doctor(here.dir, { args: ['--base-url', 'https://acs.invalid'], env });
    expect(ids('fail')).toEqual(['proxy']);
    expect(checks.proxy?.text).toMatch(/^nothing listens at the proxy /);
  });

  it('fails proxy when the variable is not a URL of a proxy', async () => {
    for (const HTTP_PROXY of ['proxy:3128:1', 'socks5://127.0.0.1:1']) {
      const { checks } = await doctor(here.dir, { args: ['--base-url', 'http://acs.invalid'], env: { HTTP_PROXY } });
      expect(checks.proxy?.status).toBe('fail');
      expect(checks.proxy?.hint).toContain('HTTP_PROXY');
    }
  });

  it('never uses the proxy for a server on this machine', async () => {
    const { checks } = await doctor(here.dir, { env: { ...here.healthy(), HTTP_PROXY: 'http://proxy.invalid:1' } });
    expect(checks.proxy).toMatchObject({ status: 'pass', text: 'not used: the server is on this machine' });
    expect(checks.key?.status).toBe('pass');
  });
});
