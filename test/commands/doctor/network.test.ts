import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeCertificate } from '../../../src/commands/doctor/network.ts';
import type { Handshake } from '../../../src/servers/reach/reach.ts';
import { start } from '../../e2e/processes.ts';
import { until } from '../../support/until.ts';
import { httpsServer, silentServer, tlsFile, type CheckJson } from './support.ts';

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
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'acs-doctor-'));
  });
  afterAll(() => rm(dir, { recursive: true, force: true }));
  const env = () => ({ PATH: process.env.PATH, HOME: dir, ACS_CONFIG_DIR: dir, ACS_DATA_DIR: path.join(dir, 'none') });

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
