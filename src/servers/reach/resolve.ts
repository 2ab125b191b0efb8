/**
 * The addresses of a name, resolved in a process of its own: the system's resolver cannot be interrupted, and one that
 * waits for a name server would keep acs from ending.
 */
import { execFile } from 'node:child_process';
import { isIP } from 'node:net';
import { AppError } from '../../errors.ts';

export interface ResolveOptions {
  /** The program that runs acs: Node. */
  node: string;
  env: Readonly<Record<string, string | undefined>>;
  timeoutMs: number;
  signal: AbortSignal;
}

interface Resolved {
  /** Of the resolver, when it found no address. */
  code?: string;
  addresses?: string[];
}

const SCRIPT = `
  require('node:dns').lookup(process.argv[1], { all: true, order: 'ipv4first' }, (error, found) => {
    console.log(JSON.stringify(error ? { code: error.code } : { addresses: found.map(({ address }) => address) }));
  });`;

/**
 * IPv4 first.
 * @param host a name, or an address, also in brackets
 * @throws AppError `network`, and the reason of the signal
 */
export async function resolveHost(host: string, options: ResolveOptions): Promise<string[]> {
  const name = host.replace(/^\[|\]$/g, '');
  if (isIP(name) !== 0) return [name];
  const { code, addresses = [] } = await lookUp(name, options);
  if (addresses.length > 0) return addresses;
  throw new AppError('network', `the name ${name} cannot be resolved${code === undefined ? '' : ` (${code})`}`, {
    hint: 'check the URL, and the name servers of this machine',
  });
}

function lookUp(name: string, { node, env, timeoutMs, signal }: ResolveOptions): Promise<Resolved> {
  // Options for acs, such as a debugger's, are not for this process.
  const { NODE_OPTIONS: _ofAcs, ...passed } = env;
  return new Promise((resolve, reject) => {
    execFile(
      node,
      ['-e', SCRIPT, '--', name],
      { env: passed, timeout: timeoutMs, killSignal: 'SIGKILL', signal, encoding: 'utf8' },
      (error, stdout) => {
        if (signal.aborted) return reject(signal.reason as Error);
        if (error === null) return resolve(JSON.parse(stdout) as Resolved);
        if (error.killed !== true) return resolve({ code: 'EAI_FAIL' });
        reject(
          new AppError('network', `the name ${name} was not resolved within ${timeoutMs / 1000} s`, {
            hint: 'check the network, and the name servers of this machine',
          }),
        );
      },
    );
  });
}
