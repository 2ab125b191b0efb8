/** What `conv wait` prints for several ids, and with which code it ends: an outcome each, or why there is none. */
import type { Context } from '../../context.ts';
import type { Outcome } from '../../runs/outcome.ts';
import { AppError, isAppError } from '../../errors.ts';
import { errorRecord } from '../../output/notices.ts';
import type { Field, RecordShape, View } from '../../output/view.ts';
import { outcomeView } from './view.ts';
import { endAs } from './waiting.ts';
import type { TrackedRun } from '../../runs/tracker-options.ts';

/** A conversation that could not be found, read or tracked. */
export interface Unread {
  id: string;
  failure: AppError;
}

export type Waited = TrackedRun | Unread;

/** The members of an error in JSON. */
export const ERROR_MEMBERS: readonly string[] = Object.keys(errorRecord(new AppError('internal', '')).error);

/** The item of a conversation that could not be read; `ok` is false. */
export const unreadShape: RecordShape = {
  noun: 'wait error',
  fields: [{ name: 'id' }, { name: 'ok' }, { name: 'error', json: { members: ERROR_MEMBERS } }],
};

export function isUnread(waited: Waited): waited is Unread {
  return !('outcome' in waited);
}

/** In rows an id that could not be read has its error as the reason, and the exit code of that error. */
export const waitedView: View<Waited> = {
  noun: outcomeView.noun,
  // With -q only ids of conversations that were waited for are printed.
  id: (waited) => (isUnread(waited) ? '' : outcomeView.id(waited.outcome)),
  fields: outcomeView.fields.map(waitedField),
  table: outcomeView.table,
  tsv: outcomeView.tsv,
  record: (waited) =>
    isUnread(waited) ? { id: waited.id, ok: false, ...errorRecord(waited.failure) } : waited.outcome,
};

function waitedField(field: Field<Outcome>): Field<Waited> {
  return {
    ...field,
    get: (waited) => {
      if (!isUnread(waited)) return field.get(waited.outcome);
      const { id, failure } = waited;
      if (field.name === 'conversation_id') return id;
      if (field.name === 'exit_code') return failure.exitCode;
      return field.name === 'reason' ? { code: failure.kind, text: failure.message } : null;
    },
  };
}

/** Ends the command with the worst code of all; errors that are not the one it ends with are warnings. */
export async function endAsWorst(ctx: Context, waited: readonly Waited[]): Promise<void> {
  const [top] = waited.toSorted((one, other) => rank(other) - rank(one));
  if (top === undefined) return;
  await warnOfUnread(
    ctx,
    waited.filter((other) => other !== top),
  );
  if (!isUnread(top)) return await endAs(ctx, top);
  await ctx.out.close();
  throw top.failure;
}

export async function warnOfUnread(ctx: Context, waited: readonly Waited[]): Promise<void> {
  for (const one of waited) if (isUnread(one)) await ctx.warn(`${one.id}: ${one.failure.message}`);
}

/** Codes of outcomes, from the best to the worst. A code that is no outcome's is worse, except that of a deadline. */
const OUTCOME_CODES = [0, 8, 6, 5, 1];
const DEADLINE_CODE = 124;

function rank(waited: Waited): number {
  const { failure } = waited;
  if (failure !== null && isAppError(failure) && failure.kind === 'interrupted') return OUTCOME_CODES.length + 2;
  const code = isUnread(waited) ? waited.failure.exitCode : waited.outcome.exit_code;
  if (code === DEADLINE_CODE) return OUTCOME_CODES.length + 1;
  const known = OUTCOME_CODES.indexOf(code);
  return known === -1 ? OUTCOME_CODES.length : known;
}
