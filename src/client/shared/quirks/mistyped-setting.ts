/**
 * Names a stored value of a wrong type as the cause of an error; checkSettingsValue refuses one
 * before it is sent.
 *
 * Servers:  openhands-ai 1.11.0; 1.6.0 refuses a wrong type over V0 (422)
 * Symptom:  after `settings set` with a wrong type nearly every request fails: the server stores
 *           the value with 200 and cannot read it (500). Settings of V0 that cannot be read are
 *           401, which is not about the key.
 * Evidence: interface 1.2, 2.2, 2.6; recording exchanges-1.11.0.jsonl, poisoned-enum and
 *           poisoned-first; test/client/quirks/mistyped-setting.test.ts
 * Cost:     0 requests; 1 read after a 500 of the settings
 * Remove:   unknown
 */
import { AppError, isFailure } from '../../../base/errors.ts';
import type { Links } from '../links.ts';

/** Where another route that reads the stored settings works, the error is that of the one route. */
export async function settingsError({ app }: Links, error: AppError): Promise<AppError> {
  const call = {
    path: '/api/v1/users/me',
    accept: [404, 500],
  } as const;
  const other = await app.request(call).catch((failure: unknown) => {
    if (!isFailure(failure)) throw failure;
    return null;
  });
  return other?.status === 500 ? unreadableSettings(error) : error;
}

/** Nothing that acs could send repairs such a server. The 401 of V0 is not about the key. */
export function unreadableSettings({ message, details }: AppError): AppError {
  return new AppError(
    'server',
    `the server cannot read the settings that it has stored (${message})`,
    {
      ...details,
      retryable: false,
      hint:
        'another client may have stored a value of a wrong type; such a server fails at ' +
        'nearly everything until its operator repairs or removes the stored settings',
    },
  );
}
