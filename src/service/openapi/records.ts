/** The JSON that the servers send: the members that are always there. An answer may have others. */
import * as v from 'valibot';
import { EXECUTION_STATUSES } from '../storage/conversation-state.ts';

export const text = () => v.string();
export const integer = () => v.pipe(v.number(), v.integer());
export const flag = () => v.boolean();
export const textOrNull = () => v.nullable(v.string());
export const dictionary = () => v.record(v.string(), v.unknown());
export const record = <Entries extends v.ObjectEntries>(entries: Entries) => v.object(entries);
export const list = <Item extends v.GenericSchema>(item: Item) => v.array(item);
export const orNull = <Schema extends v.GenericSchema>(schema: Schema) => v.nullable(schema);
export const either = (...options: v.GenericSchema[]) => v.union(options);
export const pageOf = (item: v.GenericSchema) => record({ items: list(item), next_page_id: textOrNull() });

export const refusal = record({ detail: text() });
const mistake = record({ type: text(), loc: list(either(text(), integer())), msg: text() });
export const validationError = record({ detail: either(list(mistake), text()) });
export const errorMessage = record({ error: text() });
export const message = record({ message: text() });
export const success = record({ success: flag() });
export const fileDiff = record({ original: textOrNull(), modified: textOrNull() });
export const customSecret = record({ name: text(), description: text() });
export const fileChange = record({ status: text(), path: text() });

export const metrics = record({
  model_name: text(),
  accumulated_cost: v.optional(v.number()),
  max_budget_per_task: v.nullable(v.number()),
  accumulated_token_usage: dictionary(),
});

export const executionStatus = v.picklist(EXECUTION_STATUSES);

/** The other members depend on `kind` (interface section 7.2). */
export const event = record({ id: text(), timestamp: text(), source: text(), kind: text() });
