/** A backend of Agent Canvas on this machine: its usual URL, and the key that it stores. */
import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Context } from '../context.ts';
import { isFailure, isOfKind } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/loopback.ts';
import type { NewKey } from '../../local/profiles/resolve.ts';
import { beforeTime } from '../../runs/deadline.ts';
import { readNamedFile } from './files.ts';

export const BACKEND_HERE = 'http://localhost:8000';
const LOOK_MS = 3_000;
/** Agent Canvas takes the key of this variable in place of its file. */
const KEY_VARIABLE = 'LOCAL_BACKEND_API_KEY';

/** Whether a backend answers at its usual URL, or a gateway whose servers have not started. */
export async function isBackendHere(ctx: Context): Promise<boolean> {
  const progress = await ctx.terminal.progress('looking for Agent Canvas', 'nothing');
  const ended = new AbortController();
  const within = AbortSignal.any([ctx.signal, ended.signal]);
  const target = { base_url: BACKEND_HERE, key: null, cache: 'none', startUp: 'once' } as const;
  const look = async () => {
    try {
      return (await ctx.servers.connect(target, within)).info.dialect === 'agent';
    } catch (error) {
      if (ended.signal.aborted) return false;
      if (!isFailure(error)) throw error;
      return error.details.status === 502;
    }
  };
  try {
    return (await beforeTime(ctx, LOOK_MS, [look()])) === true;
  } finally {
    ended.abort();
    await progress.done();
  }
}

/** False where there is no key of a backend at this URL, the user declines, or it is refused. */
export async function useOfferedKey(
  ctx: Context,
  baseUrl: string,
  check: (key: NewKey) => Promise<void>,
): Promise<boolean> {
  if (!isLoopbackHost(new URL(baseUrl).hostname)) return false;
  const { env, home } = ctx.local;
  const file = path.join(home, '.openhands', 'agent-canvas', 'api-key.txt');
  const ofVariable = env[KEY_VARIABLE];
  const offer = ofVariable
    ? { kind: 'env', name: KEY_VARIABLE, mode: 0, read: () => Promise.resolve(ofVariable) }
    : {
        kind: 'file',
        name: file,
        mode: (await stat(file).catch(() => null))?.mode,
        read: async () => new TextDecoder().decode(await readNamedFile(ctx, file)).trim(),
      };
  const { kind, name, mode, read } = offer;
  if (mode === undefined) return false;
  const prompt = await ctx.terminal.prompt();
  const message = `Use the key in ${name}?`;
  if (!(await prompt.confirm({ message, default: 'yes' }))) return false;
  // Refusing the file would protect nothing: whoever can read it has the key.
  if (ctx.local.machine().platform !== 'win32' && (mode & 0o077) !== 0)
    await ctx.warn(`other users have access to ${file}: chmod 600 ${file}`);
  try {
    await check({ from: 'value', value: await read(), source: `${kind}:${name}` });
    return true;
  } catch (error) {
    if (!isOfKind('auth', 'config')(error)) throw error;
    await ctx.warn(error.message);
    return false;
  }
}
