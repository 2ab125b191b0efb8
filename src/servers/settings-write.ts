/** What both dialects do before and after they write settings. */
import { AppError } from '../errors.ts';
import { checkSettingsValue } from '../domain/settings-fields.ts';
import type { SettingsChange, SettingsField } from '../domain/settings.ts';
import { serverText, type Answer } from './transport/answer.ts';

/** Throws `usage`: a server may store a wrong type with 200 and then fail every request (interface 2.6). */
export function refuseBadValues(fields: readonly SettingsField[], change: SettingsChange): void {
  const known = new Map(fields.map((field) => [field.name, field]));
  for (const name of [...Object.keys(change.set), ...change.unset]) {
    if (!known.has(name))
      throw new AppError('usage', `there is no setting ${name}`, { hint: 'list them with: acs settings schema' });
  }
  for (const [name, value] of Object.entries(change.set)) {
    const field = known.get(name);
    const problem = field === undefined ? null : checkSettingsValue(field, value);
    if (problem !== null)
      throw new AppError(
        'usage',
        problem.startsWith('must') || problem.startsWith('may') ? `${name} ${problem}` : `${name}: ${problem}`,
      );
  }
}

/** The values are the user's: 400 and 422 speak of them, and so does a 500 of some releases. */
export function settingsRefused(answer: Answer): AppError {
  const text = serverText(answer.body) ?? `status ${answer.status}`;
  if (answer.status === 500) {
    return new AppError('server', `the server did not store the settings: ${text}`, {
      status: 500,
      request: answer.request,
      hint: 'some releases answer so to a value they do not take',
    });
  }
  return new AppError('usage', `the server refuses these settings: ${text}`, {
    status: answer.status,
    request: answer.request,
  });
}

/** No settings are stored yet where the error is the settings' own; an unknown path is not that. */
export function settingsMissing({ status, request }: Pick<Answer, 'status' | 'request'>): AppError {
  return new AppError('unsupported', 'this server has no settings that can be read', { status, request });
}

/**
 * Some releases store a value of a wrong type with 200, and fail from then on (interface 2.6): V1 with 500, V0 with a
 * 401 that has nothing to do with the key. Nothing that acs could send repairs it.
 */
export function unreadableSettings({ message, details }: AppError): AppError {
  return new AppError('server', `the server cannot read the settings that it has stored (${message})`, {
    ...details,
    retryable: false,
    hint: 'another client may have stored a value of a wrong type; such a server fails at nearly everything until its operator repairs or removes the stored settings',
  });
}
