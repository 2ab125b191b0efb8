/** Checks of the way to the server, from its name to the first answer. */
import type { Handshake } from '../../servers/reach/reach.ts';
import type { Check, Finding } from './check.ts';

const DAY_MS = 24 * 3_600_000;
/** A certificate that ends sooner is a warning. */
const SOON_DAYS = 14;
const LARGE_SKEW_S = 60;
/** The server that should answer does not. */
const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

const proxy: Check = {
  id: 'proxy',
  needs: ['config'],
  async run(subject) {
    const url = await subject.url();
    const route = await subject.route();
    if (route.via === 'direct') return { status: 'pass', text: DIRECT[route.because], data: { proxy: null } };
    await subject.reach.tunnel(url, route);
    const text = `${route.url} (${route.variable}) connects to the server`;
    return { status: 'pass', text, data: { proxy: route.url, variable: route.variable } };
  },
};

const DIRECT = {
  'not-set': 'none is set for this server',
  loopback: 'not used: the server is on this machine',
  'no-proxy': 'not used: NO_PROXY names the server',
} as const;

const dns: Check = {
  id: 'dns',
  needs: ['proxy'],
  async run(subject) {
    if ((await subject.route()).via === 'proxy') return atProxy('the proxy resolves the name of the server');
    const { hostname } = new URL(await subject.url());
    const addresses = await subject.addresses();
    const isAddress = addresses.some((address) => hostname === address || hostname === `[${address}]`);
    const text = isAddress ? `not needed: the URL has an address` : `${hostname} is ${addresses.join(', ')}`;
    return { status: 'pass', text, data: { addresses } };
  },
};

const tcp: Check = {
  id: 'tcp',
  needs: ['dns'],
  async run(subject) {
    if ((await subject.route()).via === 'proxy') return atProxy('the proxy connects to the server');
    const { address, port } = await subject.reach.connect(await subject.url(), await subject.addresses());
    return { status: 'pass', text: `${address} port ${port} accepts connections`, data: { address, port } };
  },
};

/** Does not keep other checks from running. */
function atProxy(text: string): Finding {
  return { status: 'skip', text };
}

const tls: Check = {
  id: 'tls',
  needs: ['tcp'],
  async run(subject) {
    const url = await subject.url();
    if (url.startsWith('http:')) return unencrypted(subject.reach.isLoopback(url));
    return judgeCertificate(
      await subject.reach.handshake(url, await subject.route()),
      new URL(url).hostname,
      subject.ctx.clock.now(),
    );
  },
};

function unencrypted(isLoopback: boolean): Finding {
  if (isLoopback) return { status: 'skip', text: 'not used: the URL is http, on this machine' };
  const text = 'the URL is http: key and data are sent without encryption';
  return { status: 'warn', text, hint: 'use https, or a tunnel such as ssh -L' };
}

/** @param nowMs milliseconds since the epoch */
export function judgeCertificate(handshake: Handshake, host: string, nowMs: number): Finding {
  const { refusal, issuer, validFromMs, validToMs, protocol } = handshake;
  const date = (ms: number): string => new Date(ms).toISOString();
  const valid_to = validToMs === null ? null : date(validToMs);
  const data = { issuer, valid_to, protocol, refusal };
  const fail = (text: string, hint: string): Finding => ({ status: 'fail', text, hint, data });
  if (validToMs !== null && validToMs <= nowMs) {
    return fail(`the certificate has expired on ${date(validToMs)}`, 'renew it on the server');
  }
  if (validFromMs !== null && validFromMs > nowMs) {
    return fail(`the certificate is valid only from ${date(validFromMs)}`, 'check the clock of this machine');
  }
  if (refusal === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return fail(`the certificate is not for ${host}`, 'use the name that the certificate is for');
  }
  if (refusal !== null) {
    const hint = 'for a private certificate authority set NODE_EXTRA_CA_CERTS to the file of its certificate';
    return fail(`the certificate by "${issuer}" is not trusted (${refusal})`, hint);
  }
  const days = validToMs === null ? null : Math.floor((validToMs - nowMs) / DAY_MS);
  if (days !== null && days < SOON_DAYS) {
    return { status: 'warn', text: `the certificate expires in ${days} days`, hint: 'renew it on the server', data };
  }
  const until = valid_to === null ? '' : ` until ${valid_to}`;
  return { status: 'pass', text: `certificate by "${issuer}", valid${until}`, data };
}

const http: Check = {
  id: 'http',
  needs: ['tls'],
  async run(subject) {
    const { status, location } = await subject.answer();
    const data = { status };
    if (GATEWAY_STATUSES.has(status)) {
      const text = `a gateway answers with status ${status}: the server behind it does not`;
      return { status: 'fail', text, hint: 'check that the server runs', data };
    }
    const origin = location === null ? null : new URL(location).origin;
    if (origin !== null && origin !== new URL(await subject.url()).origin) {
      return { status: 'fail', text: `the server redirects to ${origin}`, hint: `use that URL: ${origin}`, data };
    }
    return { status: 'pass', text: `the server answers (status ${status})`, data };
  },
};

const clock: Check = {
  id: 'clock',
  needs: ['http'],
  async run(subject) {
    const { dateMs, sentMs, receivedMs } = await subject.answer();
    if (dateMs === null) return { status: 'skip', text: 'the server sends no date' };
    // The date of the server has whole seconds, and was written between the two times of this machine.
    const skew = Math.round((dateMs + 500 - (sentMs + receivedMs) / 2) / 1000);
    const doubt = (receivedMs - sentMs) / 2000;
    const data = { skew_seconds: skew };
    if (Math.abs(skew) - doubt <= LARGE_SKEW_S) {
      return { status: 'pass', text: `this machine and the server differ by ${Math.abs(skew)} s`, data };
    }
    const side = skew > 0 ? 'behind' : 'ahead of';
    const text = `the clock of this machine is ${Math.abs(skew)} s ${side} that of the server`;
    return { status: 'warn', text, hint: 'set the clock that is wrong: --since and --older-than compare times', data };
  },
};

export const NETWORK_CHECKS: readonly Check[] = [proxy, dns, tcp, tls, http, clock];
