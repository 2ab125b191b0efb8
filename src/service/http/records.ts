/** The JSON that the servers send: the members that are always there. An answer may have others. */
import * as v from 'valibot';
import { EXECUTION_STATUSES } from '../../protocol/agent-server/requests.ts';

export const integer = () => v.pipe(v.number(), v.integer());
export const textOrNull = () => v.nullable(v.string());
export const dictionary = () => v.record(v.string(), v.unknown());
export const texts = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, v.string()])) as Record<
    Name,
    v.StringSchema<undefined>
  >;
export const textsOrNull = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, textOrNull()])) as Record<
    Name,
    ReturnType<typeof textOrNull>
  >;
export const pageOf = (item: v.GenericSchema) =>
  v.object({ items: v.array(item), next_page_id: textOrNull() });
export const profile = () =>
  v.object({ name: v.string(), config: dictionary(), api_key_set: v.boolean() });

export const refusal = v.object(texts('detail'));
const mistake = v.object({
  ...texts('type', 'msg'),
  loc: v.array(v.union([v.string(), integer()])),
  ctx: v.optional(dictionary()),
});
export const refused = (...statuses: number[]) =>
  Object.fromEntries(statuses.map((status) => [status, refusal]));
export const validationError = v.object({ detail: v.union([v.array(mistake), v.string()]) });
/** Over V0 the refusal of a git provider is a bare string. */
export const unauthorized = v.union([refusal, v.string()]);
export const errorMessage = v.object(texts('error'));
export const message = v.object(texts('message'));
export const success = v.object({ success: v.boolean() });
export const fileDiff = v.object(textsOrNull('original', 'modified'));
export const customSecret = v.object(texts('name', 'description'));
export const fileChange = v.object(texts('status', 'path'));

export const metrics = v.object({
  model_name: v.string(),
  accumulated_cost: v.number(),
  local_cost_unknown: v.optional(v.boolean()),
  max_budget_per_task: v.nullable(v.number()),
  accumulated_token_usage: dictionary(),
});

export const executionStatus = v.picklist(EXECUTION_STATUSES);

/** The other members depend on `kind` (interface section 7.2). */
export const event = v.object(texts('id', 'timestamp', 'source', 'kind'));
