/** Connections that are opened to see whether they open: over TCP, through a proxy, and with TLS. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import tls from 'node:tls';
import type { LookupFunction } from 'node:net';
import { AppError } from '../../errors.ts';
import { endpointOf } from '../transport/address.ts';
import { classifyFailure, failureError } from '../transport/failure.ts';
import { LIMITS_MS } from '../transport/time-limits.ts';
import type { Handshake, ProxyRoute } from './reach.ts';

export interface Limits {
  timeoutMs: number;
  signal: AbortSignal;
}

/** @throws AppError `network`, and the reason of the signal */
export async function openSocket(
  { host, addresses, port }: { host: string; addresses: readonly string[]; port: number },
  limits: Limits,
): Promise<net.Socket> {
  const socket = net.connect({
    host,
    port,
    lookup: answering(addresses),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: LIMITS_MS.address,
  });
  return await settled(socket, shownHost(host, port), limits, (done) => socket.once('connect', () => done(socket)));
}

/** A lookup that gives addresses which are known already. */
function answering(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: net.isIP(address) }));
  return (_name, _options, callback) => callback(null, all);
}

/**
 * The connection to the server that a proxy opens for CONNECT.
 * @param addresses of the proxy
 * @throws AppError `network`, and the reason of the signal
 */
export async function openTunnel(
  url: string,
  proxy: ProxyRoute,
  addresses: readonly string[],
  limits: Limits,
): Promise<net.Socket> {
  const { hostname, protocol } = new URL(proxy.url);
  const server = hostAndPort(url);
  const request = (protocol === 'https:' ? https : http).request({
    host: hostname,
    port: endpointOf(proxy.url).port,
    method: 'CONNECT',
    path: server,
    headers: { host: server, ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }) },
    lookup: answering(addresses),
    agent: false,
  });
  request.end();
  return await settled(request, `the proxy ${new URL(proxy.url).host}`, limits, (done, fail) => {
    request.once('connect', (answer, socket: net.Socket) => {
      if (answer.statusCode === 200) return done(socket);
      socket.destroy();
      fail(refusedByProxy(answer, server, proxy));
    });
    // A proxy without CONNECT answers as a server does.
    request.once('response', (answer) => {
      answer.destroy();
      fail(refusedByProxy(answer, server, proxy));
    });
  });
}

function refusedByProxy({ statusCode = 0 }: http.IncomingMessage, server: string, proxy: ProxyRoute): AppError {
  const name = `the proxy ${new URL(proxy.url).host}`;
  if (statusCode === 407) {
    const which =
      proxy.authorization === null ? 'asks for a user name and password' : 'refuses the user name or password';
    return new AppError('network', `${name} ${which} (407)`, {
      hint: `put them in ${proxy.variable}: http://<user>:<password>@<host>:<port>`,
    });
  }
  return new AppError('network', `${name} does not connect to ${server} (it answered ${statusCode})`, {
    hint: `allow the server in the proxy, or except it: NO_PROXY=${server.replace(/:\d+$/, '')}`,
  });
}

/**
 * TLS over an open connection, which it ends. A certificate that a request would refuse is part of the result.
 * @throws AppError `network`, and the reason of the signal
 */
export async function shakeHands(socket: net.Socket, url: string, limits: Limits): Promise<Handshake> {
  const { host } = endpointOf(url);
  const secure = tls.connect({
    socket,
    host,
    ...(net.isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  });
  try {
    return await settled(secure, hostAndPort(url), limits, (done) => {
      secure.once('secureConnect', () => done(handshakeOf(secure)));
    });
  } finally {
    secure.destroy();
    socket.destroy();
  }
}

function handshakeOf(secure: tls.TLSSocket): Handshake {
  const { issuer, valid_from, valid_to } = secure.getPeerCertificate();
  return {
    refusal: secure.authorized ? null : codeOf(secure.authorizationError),
    issuer: nameIn(issuer),
    validFromMs: timeOf(valid_from),
    validToMs: timeOf(valid_to),
    protocol: secure.getProtocol(),
  };
}

/** Typed as an Error; Node sets the code of OpenSSL, or that of its own check of the name. */
function codeOf(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  const { code, message } = (reason ?? {}) as { code?: string; message?: string };
  return code ?? message ?? 'unknown reason';
}

function nameIn(holder: tls.Certificate | undefined): string {
  const names = [holder?.CN, holder?.O].flat().filter((name) => typeof name === 'string' && name !== '');
  return names[0] ?? 'unknown';
}

function timeOf(text: string | undefined): number | null {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? null : ms;
}

/** With the port also where the scheme has it, as CONNECT needs it. */
function hostAndPort(url: string): string {
  return `${new URL(url).hostname}:${endpointOf(url).port}`;
}

function shownHost(host: string, port: number): string {
  return net.isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** What `wait` calls `done` with; a stream that fails, closes or takes too long before is destroyed. */
function settled<T>(
  stream: net.Socket | http.ClientRequest,
  peer: string,
  { timeoutMs, signal }: Limits,
  wait: (done: (value: T) => void, fail: (error: Error) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isSettled = false;
    // Only the first counts: a request that has become a tunnel closes, and its connection must stay open.
    const settle = (end: () => void): void => {
      if (isSettled) return;
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      end();
    };
    const fail = (error: Error): void =>
      settle(() => {
        stream.destroy();
        reject(error);
      });
    const failed = (error: unknown): void => fail(failureError(classifyFailure(error, peer, timeoutMs), {}));
    const abort = (): void => fail(signal.reason as Error);
    const timer = setTimeout(
      () => failed(Object.assign(new Error(), { code: 'ETIMEDOUT', syscall: 'connect' })),
      timeoutMs,
    );
    signal.addEventListener('abort', abort);
    if (signal.aborted) return abort();
    stream.on('error', failed);
    stream.once('close', () => failed(Object.assign(new Error(), { code: 'ECONNRESET' })));
    wait((value) => settle(() => resolve(value)), fail);
  });
}
