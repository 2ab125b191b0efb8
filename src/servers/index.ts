/**
 * The door to servers: `connect` probes one and hands out the port (server.ts). Everything behind it is loaded on use,
 * so that commands which ask no server pay nothing.
 */
import type { Server } from './server.ts';
import type { ConnectOptions } from './options.ts';

/**
 * Finds out what the server speaks (from the cache, or by probing, at most 10 s) and returns the port to it.
 * Throws AppError: `auth` key missing or refused · `server` not an OpenHands server · `network` · `config` bad URL or key.
 * Call `server.close()` at the end, or open connections keep the process alive.
 */
export async function connect(options: ConnectOptions): Promise<Server> {
  const { openServer } = await import('./connect.ts');
  return openServer(options);
}
