/**
 * Replaces the value of a secret by a deletion and a creation, after a notice.
 *
 * Servers:  openhands-ai up to 1.8.0: up to 1.6.0 over the routes of V0, which releases that serve
 *           both dialects have alone; 1.7 and 1.8 over V1, whose POST replaces the value since
 *           1.9.0
 * Symptom:  `secret set` of an existing name exits 2 with "already exists": POST refuses the name,
 *           and PUT does not change the value.
 * Evidence: interface 2.4, 2.8; recordings exchanges-1.6.0.jsonl, v0.secrets;
 *           test/client/quirks/unreplaced-secret.test.ts
 * Cost:     0 requests where the name is new or the server replaces the value; else 1 deletion,
 *           over V1 1 refused POST
 * Remove:   when releases up to 1.8.0 are no longer supported
 */
import { AppError, isAppError } from '../../../base/errors.ts';
import { serverText, type Answer } from '../../http/answer.ts';
import type { Links } from '../links.ts';

/** Whether POST refuses a name that exists. A 400 about anything else must not delete the value. */
export function refusesName({ status, body }: Answer, name: string): boolean {
  const text = serverText(body) ?? '';
  return status === 400 && text.split(/\W+/).includes(name) && /already exists/i.test(text);
}

export async function recreateSecret(
  links: Links,
  name: string,
  { remove, create }: { remove(): Promise<void>; create(): Promise<void> },
): Promise<void> {
  links.notice(
    `this server does not replace the value of ${name}: it is deleted and created again; if ` +
      'that fails in between, the old value is lost',
  );
  let isDeleted = false;
  try {
    await remove();
    isDeleted = true;
    await create();
  } catch (error) {
    if (!isAppError(error)) throw error;
    const { status = 0 } = error.details;
    const isRefused = status >= 400 && status < 500;
    if (isRefused && !isDeleted) throw error;
    const message =
      `the old value of ${name} may be gone, and the new one may not be stored: ` +
      `${error.message}`;
    throw new AppError(error.kind, message, {
      ...error.details,
      exitCode: error.exitCode,
      hint: `store it again: acs secret set ${name}`,
    });
  }
}
