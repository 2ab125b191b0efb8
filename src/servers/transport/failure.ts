/** Errors of failed connections: their kind, the next step, and whether the server may have executed the request. */
import { endpointOf } from './address.ts';
import { AppError } from '../../errors.ts';
import type { ErrorDetails } from '../../errors.ts';

export type FailureClass = 'dns' | 'refused' | 'unreachable' | 'tls' | 'timeout' | 'reset' | 'proxy' | 'other';

export interface Failure {
  class: FailureClass;
  /** False only where the request cannot have reached the server. */
  sent: 'no' | 'maybe';
  text: string;
  hint?: string;
}

const TLS_CODES = /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO|HOSTNAME_MISMATCH)/;

/** Error codes of straight.ts and of undici. */
const SILENCE_CODES: ReadonlySet<string> = new Set(['ACS_SILENCE', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** The system error code nested in an error of undici or Node. */
export function errorCode(error: unknown): string {
  const codes: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (depth > 4 || typeof value !== 'object' || value === null) return;
    const { code, cause, errors } = value as { code?: unknown; cause?: unknown; errors?: unknown };
    if (typeof code === 'string') codes.push(code);
    visit(cause, depth + 1);
    if (Array.isArray(errors)) for (const one of errors) visit(one, depth + 1);
  };
  visit(error, 0);
  return codes.find((code) => !code.startsWith('UND_ERR_SOCKET')) ?? codes[0] ?? '';
}

/** Codes of a failed connect, and of an established connection that failed after the request was sent. */
const LOST_ROUTE = new Set(['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH']);

function isWhileConnecting(error: unknown, depth = 0): boolean {
  if (depth > 4 || typeof error !== 'object' || error === null) return false;
  const { syscall, cause, errors } = error as { syscall?: unknown; cause?: unknown; errors?: unknown };
  if (typeof syscall === 'string') return syscall === 'connect';
  const inner: unknown[] = Array.isArray(errors) ? errors : [];
  return [cause, ...inner].some((one) => isWhileConnecting(one, depth + 1));
}

/** The peer of a connection: the host of the URL, or the proxy when the error names it. */
export function peerOf(error: unknown, url: string, proxy: string | null): string {
  const target = new URL(url);
  if (proxy === null || !URL.canParse(proxy)) return target.host;
  const way = new URL(proxy);
  const failed = failedPeer(error);
  if (failed === null) return target.host;
  // An address may belong to either name; different ports distinguish them.
  const { port } = endpointOf(way);
  const isItsAddress = failed.isAddress && failed.port === String(port) && endpointOf(target).port !== port;
  const isItsName = failed.host === way.hostname && way.hostname !== target.hostname;
  return isItsName || isItsAddress ? `${THE_PROXY}${way.host}` : target.host;
}

const THE_PROXY = 'the proxy ';

/** The address that could not be connected to, from the error of the system or of undici. */
function failedPeer(error: unknown, depth = 0): { host: string; port: string | null; isAddress: boolean } | null {
  if (depth > 4 || typeof error !== 'object' || error === null) return null;
  const { hostname, address, port, message, cause, errors } = error as Record<string, unknown>;
  if (typeof hostname === 'string') return { host: hostname, port: null, isAddress: false };
  if (typeof address === 'string' && typeof port === 'number')
    return { host: address, port: String(port), isAddress: true };
  const attempted = typeof message === 'string' ? /attempted address(?:es)?: (\S+?):(\d+)/.exec(message) : null;
  if (attempted?.[1] !== undefined) return { host: attempted[1], port: attempted[2] ?? null, isAddress: false };
  for (const inner of [cause, ...(Array.isArray(errors) ? (errors as unknown[]) : [])]) {
    const found = failedPeer(inner, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** @param host whom the connection was made to: see peerOf */
export function classifyFailure(error: unknown, host: string, timeoutMs: number): Failure {
  const failure = failureOf(error, host, timeoutMs);
  if (!host.startsWith(THE_PROXY) || failure.class === 'other') return failure;
  return { ...failure, hint: 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY' };
}

function failureOf(error: unknown, host: string, timeoutMs: number): Failure {
  const code = errorCode(error);
  const seconds = `${timeoutMs / 1000} s`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return {
      class: 'dns',
      sent: 'no',
      text: `the name ${host} cannot be resolved`,
      hint: 'check the URL and the network',
    };
  }
  if (code === 'ECONNREFUSED') {
    return {
      class: 'refused',
      sent: 'no',
      text: `nothing listens at ${host} (connection refused)`,
      hint: 'check that the server runs and the port is right',
    };
  }
  if (LOST_ROUTE.has(code) && !isWhileConnecting(error)) {
    return { class: 'reset', sent: 'maybe', text: `the connection to ${host} was lost (${code})` };
  }
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH' || code === 'EADDRNOTAVAIL') {
    return { class: 'unreachable', sent: 'no', text: `${host} cannot be reached (${code})`, hint: 'check the network' };
  }
  if (TLS_CODES.test(code)) {
    return {
      class: 'tls',
      sent: 'no',
      text: `the TLS connection to ${host} failed (${code})`,
      hint: 'for a private certificate authority set NODE_EXTRA_CA_CERTS to its file; check http and https',
    };
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') {
    return {
      class: 'timeout',
      sent: 'no',
      text: `no connection to ${host} within ${seconds}`,
      hint: 'check the URL and the network, or raise --request-timeout',
    };
  }
  if (SILENCE_CODES.has(code)) {
    return {
      class: 'timeout',
      sent: 'maybe',
      text: `${host} sent nothing for ${seconds}`,
      hint: 'raise --request-timeout if the server is only slow',
    };
  }
  if (code === 'UND_ERR_PRX_TLS' || code === 'UND_ERR_ABORTED') {
    return {
      class: 'proxy',
      sent: 'no',
      text: `the proxy did not connect to ${host}`,
      hint: 'check HTTP_PROXY, HTTPS_PROXY and NO_PROXY',
    };
  }
  if (code.startsWith('HPE_') || (error instanceof Error && error.name === 'HTTPParserError')) {
    return { class: 'other', sent: 'maybe', text: `${host} does not speak HTTP`, hint: 'is this the right port?' };
  }
  if (code === 'ECONNRESET' || code === 'EPIPE' || code.startsWith('UND_ERR_SOCKET') || code.startsWith('UND_ERR_')) {
    return { class: 'reset', sent: 'maybe', text: `the connection to ${host} was cut` };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { class: 'other', sent: 'maybe', text: `the request to ${host} failed: ${message.slice(0, 300)}` };
}

export function failureError(failure: Failure, details: ErrorDetails): AppError {
  return new AppError('network', failure.text, {
    ...details,
    hint: failure.hint,
    retryable: failure.class !== 'tls' && failure.class !== 'dns',
  });
}
