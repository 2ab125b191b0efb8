import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

export interface GitHost {
  /** Without a slash at the end. */
  url: string;
  close(): Promise<void>;
}

/**
 * Serves the bare repositories below a folder as plain files, which git clones after `git
 * update-server-info`.
 */
export async function startGitHost(folder: string): Promise<GitHost> {
  const host = createServer((request, response) => {
    const file = path.join(folder, new URL(request.url ?? '/', 'http://host').pathname);
    if (existsSync(file) && statSync(file).isFile()) createReadStream(file).pipe(response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(host.address() as AddressInfo).port}`,
    close: async () => {
      host.closeAllConnections();
      await new Promise((resolve) => host.close(resolve));
    },
  };
}
