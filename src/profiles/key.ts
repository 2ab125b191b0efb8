import { AppError, isAppError } from '../errors.ts';
import { fileProblem } from '../text/file-problem.ts';
import type { NewKey, ResolvedTarget, TargetPlan } from './resolve.ts';

/** Everything that is read or run for a key; given by wire, so that what must not run anything can leave it out. */
export interface KeyReaders {
  /** A path relative to the working directory. */
  readFile(path: string): Promise<Uint8Array>;
  readStdin(): Promise<Uint8Array>;
  /** What the command printed; see runKeyCommand. */
  runCommand(command: string): Promise<string>;
  /** Address and key of the local service that runs now; null when none does. Starts nothing. */
  local(): Promise<{ url: string; key: string } | null>;
}

/** No key of any server is near this; a larger file is the wrong file. */
const MAX_KEY_BYTES = 16_384;

/** Fetches the key a plan points at. Throws `config` when it cannot be had or cannot be sent. */
export async function fillTarget(plan: TargetPlan, readers: KeyReaders): Promise<ResolvedTarget> {
  if (plan.key.from === 'local') {
    const running = await readers.local();
    return { ...plan, base_url: running?.url ?? null, key: running?.key ?? null, key_source: 'local' };
  }
  const key = await fetchKey(plan.key, readers);
  return { ...plan, key: key?.value ?? null, key_source: key?.source ?? null };
}

/** As fillTarget, for a key that belongs to no server yet (`profile add`). Null: no key. */
export async function fetchKey(
  plan: NewKey,
  readers: Pick<KeyReaders, 'readFile' | 'readStdin' | 'runCommand'>,
): Promise<{ value: string; source: string } | null> {
  switch (plan.from) {
    case 'none':
      return null;
    case 'value':
      return { value: readKeyText(plan.value, nameOf(plan.source)), source: plan.source };
    case 'file':
      return { value: readKeyText(await fileText(plan.path, readers), `the key in ${plan.path}`), source: 'file' };
    case 'stdin':
      return { value: readKeyText(decode(await readers.readStdin(), 'stdin'), 'the key from stdin'), source: 'stdin' };
    case 'command':
      return {
        value: readKeyText(await readers.runCommand(plan.command), 'the key that the command printed'),
        source: 'command',
      };
  }
}

/**
 * One trailing line break is dropped; what is left must be fit for a header. Throws `config` without repeating any of
 * it: Node's own error for a bad header prints the whole value.
 * @param what names the key in a message
 */
export function readKeyText(text: string, what: string): string {
  const key = text.replace(/\r?\n$/, '');
  if (key.trim() === '') throw new AppError('config', `${what} is empty`);
  const hint = 'a key is one line of ASCII letters, digits and punctuation';
  if (/[\r\n]/.test(key)) throw new AppError('config', `${what} has more than one line`, { hint });
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new AppError('config', `${what} holds a space or a character that cannot be sent in a header`, { hint });
  }
  return key;
}

function nameOf(source: string): string {
  return source.startsWith('env:') ? source.slice('env:'.length) : `the stored key (${source})`;
}

async function fileText(path: string, readers: Pick<KeyReaders, 'readFile'>): Promise<string> {
  try {
    return decode(await readers.readFile(path), path);
  } catch (error) {
    if (isAppError(error)) throw error;
    // Not the path: it may be the key itself, given in the wrong place.
    throw new AppError('config', `cannot read the file that --api-key-file names: ${fileProblem(error).reason}`, {
      hint: 'the flag takes the path of a file that holds the key, or - for stdin; not the key itself',
      cause: error,
    });
  }
}

function decode(bytes: Uint8Array, what: string): string {
  if (bytes.length > MAX_KEY_BYTES) throw new AppError('config', `${what} is too long to be a key`);
  return new TextDecoder('utf-8').decode(bytes);
}
