/** Checking steps that come over the wire from the app server. */
import * as v from 'valibot';
import { ReplayError } from './reading.ts';
import type { ReplayStep } from './steps.ts';

const risk = v.optional(v.picklist(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH']));
const thought = v.optional(v.string(), '');

const replayStep = v.variant('type', [
  v.object({
    type: v.literal('terminal'),
    command: v.string(),
    is_input: v.optional(v.boolean(), false),
    reset: v.optional(v.boolean(), false),
    timeout_seconds: v.optional(v.pipe(v.number(), v.minValue(0))),
    thought,
    risk,
  }),
  v.object({
    type: v.literal('edit'),
    command: v.picklist(['view', 'create', 'str_replace', 'insert', 'undo_edit']),
    path: v.string(),
    file_text: v.optional(v.string()),
    old_str: v.optional(v.string()),
    new_str: v.optional(v.string()),
    insert_line: v.optional(v.number()),
    view_range: v.optional(v.tuple([v.number(), v.number()])),
    thought,
    risk,
  }),
  v.object({ type: v.literal('message'), text: v.string(), ends_turn: v.boolean() }),
  v.object({ type: v.literal('think'), thought: v.string() }),
  v.object({ type: v.literal('finish'), message: v.string(), thought }),
  v.object({
    type: v.literal('break'),
    status: v.picklist(['error', 'stuck']),
    code: v.string(),
    detail: v.string(),
  }),
]);

/** The steps, checked. Throws ReplayError with the place of the first thing that is wrong. */
export function readSteps(document: unknown): ReplayStep[] {
  const result = v.safeParse(v.pipe(v.array(replayStep), v.minLength(1)), document);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const place = (issue.path ?? []).map((item) => String(item.key)).join('.');
  throw new ReplayError(`replay${place === '' ? '' : ` at ${place}`}: ${issue.message}`);
}
