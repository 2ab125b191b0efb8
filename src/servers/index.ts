/**
 * The entry to servers: `connect` probes one and returns the port (server.ts). All other modules are loaded on use,
 * so that commands without a server do not load them.
 */
import type { Server } from './server.ts';
import type { ConnectOptions } from './options.ts';

/**
 * Finds the dialects of the server (from the cache, or by a probe, at most 10 s) and returns the port to it.
 * Throws AppError: `auth` key missing or refused · `server` not an OpenHands server · `network` · `config` bad URL or key.
 * Call `server.close()` at the end, or open connections keep the process alive.
 */
export async function connect(options: ConnectOptions): Promise<Server> {
  const { openServer } = await import('./connect.ts');
  return openServer(options);
}
