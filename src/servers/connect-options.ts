/** What a connection to a server needs: the URL, the key, and the environment of the command. */
import type { Clock } from '../clock.ts';
import type { TargetSources } from '../domain/target-sources.ts';
import type { SecretKeeper } from '../text/secret-keeper.ts';

/** The facts that a probe found about a server; plain JSON, which the caller caches. */
export interface ProbeCache {
  get(origin: string): Promise<unknown>;
  set(origin: string, value: unknown): Promise<void>;
  drop(origin: string): Promise<void>;
}

export interface ConnectOptions {
  /** http(s) URL of the app server, a path prefix allowed. */
  baseUrl: string;
  key: string | null;
  /** The secrets of the command that connects; none: the key alone. */
  secrets?: SecretKeeper;
  /** Where URL and key came from; named by every refused key. */
  sources?: TargetSources;
  /** True when this is the built-in profile of the local service: no pace, no proxy. */
  local: boolean;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  signal: AbortSignal;
  /** In `dry-run` reads go out, the first write throws DryRunStop. */
  mode: 'live' | 'dry-run';
  /**
   * Limit of each phase of a request: connect, headers, time between bytes. Default 30 s, longer where a server needs
   * it.
   */
  requestTimeoutMs?: number;
  /** Requests a second to this server. */
  rate?: number;
  /** One line for each request and answer, redacted (`--debug`). */
  log?: (line: string) => void;
  /** Prints a notice on stderr, e.g. that a secret may get lost. */
  notice?: (text: string) => void;
  cache?: ProbeCache;
}
