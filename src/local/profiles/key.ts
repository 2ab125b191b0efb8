import { AppError, isAppError, fileProblem } from '../../base/errors.ts';
import type { NewKey, ResolvedTarget, TargetPlan } from './resolve.ts';

export interface KeyReaders {
  readFile(path: string): Promise<Uint8Array>;
  readStdin(): Promise<Uint8Array>;
  runCommand(command: string): Promise<string>;
  /** Null when the local service does not run; it is not started. */
  local(): Promise<{ url: string; key: string; pid: number; version: string } | null>;
}

const MAX_KEY_BYTES = 16_384;

/** Throws `config` when the key cannot be had or cannot be sent. */
export async function fillTarget(plan: TargetPlan, readers: KeyReaders): Promise<ResolvedTarget> {
  if (plan.local) {
    const running = await readers.local();
    return {
      ...plan,
      base_url: running?.url ?? null,
      key: running?.key ?? null,
      key_source: 'local',
      pid: running?.pid,
      version: running?.version,
    };
  }
  const key = await fetchKey(plan.key, readers);
  return { ...plan, key: key?.value ?? null, key_source: key?.source ?? null };
}

export async function fetchKey(
  plan: NewKey,
  readers: Pick<KeyReaders, 'readFile' | 'readStdin' | 'runCommand'>,
): Promise<{ value: string; source: string } | null> {
  switch (plan.from) {
    case 'none':
      return null;
    case 'value': {
      const { value, source } = plan;
      const [, named = `the stored key (${source})`] = /^(?:env|file):(.+)$/.exec(source) ?? [];
      return { value: readKeyText(value, named), source };
    }
    case 'file':
      return {
        value: readKeyText(await fileText(plan.path, readers), `the key in ${plan.path}`),
        source: 'file',
      };
    case 'stdin':
      return {
        value: readKeyText(decode(await readers.readStdin(), 'stdin'), 'the key from stdin'),
        source: 'stdin',
      };
    case 'command':
      return {
        value: readKeyText(
          await readers.runCommand(plan.command),
          'the key that the command printed',
        ),
        source: 'command',
      };
  }
}

/** Throws `config` without the key: Node's error for a bad header prints the whole value. */
export function readKeyText(text: string, what: string): string {
  const key = text.replace(/\r?\n$/, '');
  const hint = 'a key is one line of ASCII letters, digits and punctuation';
  if (key.trim() === '') throw new AppError('config', `${what} is empty`, { hint });
  if (/[\r\n]/.test(key)) throw new AppError('config', `${what} has more than one line`, { hint });
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new AppError(
      'config',
      `${what} holds a space or a character that cannot be sent in a header`,
      { hint },
    );
  }
  return key;
}

async function fileText(path: string, readers: Pick<KeyReaders, 'readFile'>): Promise<string> {
  try {
    return decode(await readers.readFile(path), path);
  } catch (error) {
    if (isAppError(error)) throw error;
    // The path is not repeated: it may be the key itself.
    throw new AppError(
      'config',
      `cannot read the file that --api-key-file names: ${fileProblem(error).reason}`,
      {
        hint:
          'the flag takes the path of a file that holds the key, or - for stdin; not the ' +
          'key itself',
        cause: error,
      },
    );
  }
}

function decode(bytes: Uint8Array, what: string): string {
  if (bytes.length > MAX_KEY_BYTES) throw new AppError('config', `${what} is too long to be a key`);
  return new TextDecoder('utf-8').decode(bytes);
}
