/**
 * The steps of a request, one at a time, for the command that finds out which of them fails. Each opens a connection of
 * its own, ends it, and takes no longer than the limit of a request.
 */

/** Every method throws AppError `network`, and the reason of the signal. */
export interface Reach {
  /** The way that requests to this URL take; throws AppError `config` for a proxy that cannot be used. */
  route(url: string): Route;
  /** Whether requests to this URL stay on the machine. */
  isLoopback(url: string): boolean;
  /** The addresses of the host of a URL, IPv4 first, as the system resolves it. */
  addressesOf(url: string): Promise<string[]>;
  /** Connects to one of the addresses at the port of the URL; returns the address that accepted. */
  connect(url: string, addresses: readonly string[]): Promise<{ address: string; port: number }>;
  /** Connects to the proxy and requests a connection to the server through it. */
  tunnel(url: string, proxy: ProxyRoute): Promise<void>;
  /** A TLS handshake, which also completes with a certificate that a request would refuse. */
  handshake(url: string, route: Route): Promise<Handshake>;
  /** The answer to a GET without a key. */
  answer(url: string): Promise<PlainAnswer>;
}

export type Route = DirectRoute | ProxyRoute;

export interface DirectRoute {
  via: 'direct';
  /** Why no proxy is used. */
  because: 'not-set' | 'loopback' | 'no-proxy';
}

export interface ProxyRoute {
  via: 'proxy';
  /** The variable that names it. */
  variable: string;
  /** Without user name and password. */
  url: string;
  /** Value of `Proxy-Authorization`; null without a user name. A secret. */
  authorization: string | null;
}

export interface Handshake {
  /** The code of OpenSSL or Node that a request would fail with; null: the certificate is accepted. */
  refusal: string | null;
  issuer: string;
  /** Milliseconds since the epoch; null when the certificate has no readable date. */
  validFromMs: number | null;
  validToMs: number | null;
  /** `TLSv1.3`. */
  protocol: string | null;
}

export interface PlainAnswer {
  status: number;
  /** Where a redirect leads, without credentials; null for other answers. */
  location: string | null;
  /** Milliseconds since the epoch: the clock of the server; null without one, and for an answer of a cache. */
  dateMs: number | null;
  /** The clock of this machine when the request was sent and when the answer had come. */
  sentMs: number;
  receivedMs: number;
}
