/** Ports that a server keeps while it is ended and started again. */
import { createServer, type Server } from 'node:net';

const FIRST_PORT = 12_000;
const BLOCKS = 190;

/**
 * The first of a hundred ports for a server and its sandboxes. Below those that systems hand out: a
 * sandbox takes its port seconds after it was found free, and until then any connection might get
 * it. The last of them is held as long as this process lives, so that another run gets other ones
 * meanwhile.
 */
export async function freeBlock(): Promise<number> {
  for (let block = process.pid; block < process.pid + BLOCKS; block++) {
    const port = FIRST_PORT + (block % BLOCKS) * 100;
    const held = await listening(port + 99);
    if (held === null) continue;
    const first = await listening(port);
    if (first !== null) {
      await new Promise((resolve) => first.close(resolve));
      held.unref();
      return port;
    }
    held.close();
  }
  throw new Error('there is no free port for a server');
}

function listening(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
