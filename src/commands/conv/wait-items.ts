/** The items that `conv wait` prints for several ids: an outcome each, or the error of an id that could not be read. */
import type { Outcome } from '../../runs/outcome.ts';
import { AppError } from '../../errors.ts';
import { errorRecord } from '../../output/notices.ts';
import type { Field, RecordShape, View } from '../../output/view.ts';
import type { Waited } from '../resource/wait.ts';
import { outcomeView } from './view.ts';

/** The members of an error in JSON. */
export const ERROR_MEMBERS: readonly string[] = Object.keys(errorRecord(new AppError('internal', '')).error);

/** The item of a conversation that could not be read; `ok` is false. */
export const unreadShape: RecordShape = {
  noun: 'wait error',
  fields: [{ name: 'id' }, { name: 'ok' }, { name: 'error', json: { members: ERROR_MEMBERS } }],
};

/** In rows an id that could not be read has its error as the reason, and the exit code of that error. */
export const waitedView: View<Waited<Outcome>> = {
  noun: outcomeView.noun,
  // With -q only ids of conversations that were waited for are printed.
  id: ({ result }) => (result === null ? '' : outcomeView.id(result)),
  fields: outcomeView.fields.map(waitedField),
  table: outcomeView.table,
  tsv: outcomeView.tsv,
  record: ({ id, result, failure }) => result ?? { id, ok: false, ...(failure && errorRecord(failure)) },
};

function waitedField(field: Field<Outcome>): Field<Waited<Outcome>> {
  return {
    ...field,
    get: ({ id, result, failure }) => {
      if (result !== null) return field.get(result);
      if (field.name === 'conversation_id') return id;
      if (failure === null) return null;
      if (field.name === 'exit_code') return failure.exitCode;
      return field.name === 'reason' ? { code: failure.kind, text: failure.message } : null;
    },
  };
}
