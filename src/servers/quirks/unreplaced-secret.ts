/**
 * Replaces the value of a secret by a deletion and a creation, after a notice.
 *
 * Servers:  openhands-ai up to 1.6.0, over the routes of V0, which releases that serve both dialects have alone
 * Symptom:  `secret set` of an existing name exits 2 with "already exists": POST refuses the name, and PUT does not
 *           change the value.
 * Evidence: interface 2.4; recordings exchanges-1.6.0.jsonl, v0.secrets; test/servers/quirks/unreplaced-secret.test.ts
 * Cost:     0 requests where the name is new or the server replaces the value; else 1 deletion
 * Remove:   when servers with V0 are no longer supported
 */
import { AppError, isAppError } from '../../errors.ts';
import type { Links } from '../links.ts';
import { removeOrRead } from '../removal.ts';
import { DryRunStop, plannedRequests } from '../transport/dry-run.ts';

/** The value that a secret had before; `kept`: the server accepted the deletion and still lists the secret. */
export type OldValue = 'deleted' | 'kept' | 'unknown';

export interface Replacement {
  /** One request. */
  remove(): Promise<void>;
  isThere(): Promise<boolean>;
  /** @param old what became of the old value */
  create(old: OldValue): Promise<void>;
}

export async function recreateSecret(
  links: Links,
  name: string,
  { remove, isThere, create }: Replacement,
): Promise<void> {
  if (links.mode === 'dry-run') {
    throw new DryRunStop([...(await plannedRequests(remove)), ...(await plannedRequests(() => create('deleted')))]);
  }
  links.notice(
    `${name} exists, and this server replaces no value: it is deleted and created again; if that fails in between, the old value is lost`,
  );
  const old = await removeOld(links, name, { remove, isThere });
  try {
    await create(old);
  } catch (error) {
    if (!isAppError(error)) throw error;
    // What is listed after a lost answer may be the new value.
    const state = old === 'kept' && !isRefused(error) ? 'unknown' : old;
    throw withOldValue(
      error,
      name,
      state,
      state === 'kept' ? 'the new one is not stored' : 'the new one may not be stored',
    );
  }
}

/** Deletes the secret and reads it again. Throws an error that names a possible loss of the old value. */
async function removeOld(
  links: Links,
  name: string,
  { remove, isThere }: Pick<Replacement, 'remove' | 'isThere'>,
): Promise<OldValue> {
  const read: { shows: OldValue } = { shows: 'unknown' };
  const look = async (): Promise<boolean> => {
    read.shows = (await isThere()) ? 'kept' : 'deleted';
    return read.shows === 'kept';
  };
  try {
    await removeOrRead(links, `secret ${name}`, { remove, isThere: look });
    if (read.shows === 'unknown') await look().catch(unlessInterrupted);
  } catch (error) {
    if (!isAppError(error) || read.shows === 'kept' || isRefused(error)) throw error;
    throw withOldValue(error, name, 'unknown', 'the new one is not stored');
  }
  return read.shows;
}

/** The deletion was accepted: a list that cannot be read does not make that a failure. */
function unlessInterrupted(error: unknown): void {
  if (!isAppError(error) || error.kind === 'interrupted') throw error;
}

function isRefused({ details: { status } }: AppError): boolean {
  return status !== undefined && status >= 400 && status < 500;
}

const STATES: Record<OldValue, string> = {
  deleted: 'is gone',
  kept: 'is unchanged (the server accepted its deletion and still lists it)',
  unknown: 'may be gone',
};

/** @param rest what became of the new value */
function withOldValue(error: AppError, name: string, old: OldValue, rest: string): AppError {
  const again = `store it again: acs secret set ${name}`;
  const hints: Record<OldValue, string> = {
    deleted: again,
    kept: 'this server does not replace the value: use another name',
    unknown: `see whether it is there: acs secret list   ${again}`,
  };
  return new AppError(error.kind, `the old value of ${name} ${STATES[old]}, and ${rest}: ${error.message}`, {
    ...error.details,
    exitCode: error.exitCode,
    hint: hints[old],
    data: { ...error.details.data, name, old_value: old },
  });
}
