import * as v from 'valibot';

export class ReplayError extends Error {}

export const EDITOR_COMMANDS = ['view', 'create', 'str_replace', 'insert', 'undo_edit'] as const;
export const RISKS = ['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'] as const;

const risk = v.optional(v.picklist(RISKS));
const thought = v.optional(v.string(), '');

const terminalStep = v.object({
  type: v.literal('terminal'),
  command: v.string(),
  is_input: v.optional(v.boolean(), false),
  reset: v.optional(v.boolean(), false),
  timeout_seconds: v.optional(v.pipe(v.number(), v.minValue(0))),
  thought,
  risk,
});

/** A command of the file editor tool. Relative paths are resolved from the working directory. */
const editStep = v.object({
  type: v.literal('edit'),
  command: v.picklist(EDITOR_COMMANDS),
  path: v.string(),
  file_text: v.optional(v.string()),
  old_str: v.optional(v.string()),
  new_str: v.optional(v.string()),
  /** The text goes after this line; 0 is the top. */
  insert_line: v.optional(v.number()),
  /** First and last line, from 1; -1 is the end. */
  view_range: v.optional(v.tuple([v.number(), v.number()])),
  thought,
  risk,
});

const thinkStep = v.object({ type: v.literal('think'), thought: v.string() });
const finishStep = v.object({ type: v.literal('finish'), message: v.string(), thought });

const replayStep = v.variant('type', [
  terminalStep,
  editStep,
  thinkStep,
  finishStep,
  /** `ends_turn`: a user message is next, so the run finishes here. */
  v.object({ type: v.literal('message'), text: v.string(), ends_turn: v.boolean() }),
  v.object({
    type: v.literal('break'),
    status: v.picklist(['error', 'stuck']),
    code: v.string(),
    detail: v.string(),
  }),
]);

export type TerminalStep = v.InferOutput<typeof terminalStep>;
export type EditStep = v.InferOutput<typeof editStep>;
export type ToolStep = TerminalStep | EditStep | v.InferOutput<typeof thinkStep> | v.InferOutput<typeof finishStep>;
export type ReplayStep = v.InferOutput<typeof replayStep>;

/** Steps that come over the wire from the app server, checked. Throws ReplayError with the path of the first error. */
export function readSteps(document: unknown): ReplayStep[] {
  const result = v.safeParse(v.pipe(v.array(replayStep), v.minLength(1)), document);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = (issue.path ?? []).map((item) => String(item.key)).join('.');
  throw new ReplayError(`replay${path === '' ? '' : ` at ${path}`}: ${issue.message}`);
}
