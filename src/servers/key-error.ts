/** The error of a 401 or 403 that is about the key: names where the URL and the key came from. */
import { sourceWords } from '../domain/target-sources.ts';
import { AppError } from '../errors.ts';
import type { ConnectOptions } from './connect-options.ts';
import type { Answer } from './transport/answer.ts';

export type KeyInUse = Pick<ConnectOptions, 'key' | 'sources'>;

export function keyError(
  { key, sources }: KeyInUse,
  { status, request }: Pick<Answer, 'status' | 'request'>,
): AppError {
  const from = sources === undefined ? null : sourceWords(sources);
  const url = from === null ? '' : `the URL comes from ${from.base_url}; `;
  if (key === null) {
    return new AppError('auth', 'this server asks for a key, and none was given', {
      status,
      request,
      hint: `${url}give a key with --api-key-file <file>, ACS_API_KEY, or a profile: acs login`,
    });
  }
  return new AppError('auth', `the server refuses the key${from?.key == null ? '' : ` from ${from.key}`}`, {
    status,
    request,
    hint: `${url}give another key with --api-key-file <file>, ACS_API_KEY, or a profile: acs login`,
  });
}
