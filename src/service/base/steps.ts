/** The steps of an agent: those of a replay, and those that only a model takes. */
import * as v from 'valibot';

export class ReplayError extends Error {}

export const EDITOR_COMMANDS = ['view', 'create', 'str_replace', 'insert', 'undo_edit'] as const;
export const RISKS = ['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'] as const;
export type Risk = (typeof RISKS)[number];

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

export type ReplayStep = v.InferOutput<typeof replayStep>;
export type TerminalStep = v.InferOutput<typeof terminalStep>;
export type EditStep = v.InferOutput<typeof editStep>;

export const TASK_STATUSES = ['todo', 'in_progress', 'done'] as const;

export interface Task {
  title: string;
  notes: string;
  status: (typeof TASK_STATUSES)[number];
}

/** `task_list`: the whole list, for `plan` alone. */
export interface TaskTrackerStep {
  type: 'task_tracker';
  command: 'view' | 'plan';
  task_list: Task[];
  thought: string;
}

/** A call of a tool of an MCP server. `name`: the name that the model was offered. */
export interface McpStep {
  type: 'mcp';
  name: string;
  data: Record<string, unknown>;
  thought: string;
  risk?: Risk | undefined;
}

/** Reasoning of a model, also in the form in which its endpoint takes it back. */
export interface Reasoning {
  text: string;
  /** Of Anthropic; `data`: what the endpoint does not show. */
  thinking_blocks: (
    | { type: 'thinking'; thinking: string; signature: string }
    | { type: 'redacted_thinking'; data: string }
  )[];
  /** Of OpenAI Responses. */
  responses_reasoning_item: {
    id: string;
    summary: string[];
    encrypted_content: string;
  } | null;
}

/** The tool call of a model behind a step. Calls of one answer have the same `response_id`. */
export interface ModelCall {
  response_id: string;
  name: string;
  /** The text of the model; it may be invalid JSON. */
  arguments: string;
  /** What came before the call in the answer. */
  reasoning: Reasoning;
  /** Gemini sends it, and refuses a call in the history without it. */
  signature: string | null;
}

/** A call of an unknown tool, or with wrong arguments. `error` is for the model. */
export interface InvalidStep {
  type: 'invalid';
  thought: string;
  error: string;
  call: ModelCall;
}

/** An answer without a call that ends no turn. `text`: what the model said; `request`: for it. */
export interface RetryStep {
  type: 'retry';
  text: string;
  request: string;
}

export interface CondensationStep {
  type: 'condensation';
  forgotten_event_ids: string[];
  summary: string;
  /** The position of the summary among the remaining events. */
  summary_offset: number;
  response_id: string;
}

/** The usage of one answer of a model. `cost` in US dollars; null: the price is not known. */
export interface ModelUsage {
  prompt_tokens: number;
  completion_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost: number | null;
  response_id: string;
}

type BuiltInStep =
  TerminalStep | EditStep | v.InferOutput<typeof thinkStep> | v.InferOutput<typeof finishStep>;
export type ToolStep = (BuiltInStep | TaskTrackerStep | McpStep) & { call?: ModelCall };
/** `usage`: that of an answer, on its first step alone; `reasoning`: of one without a call. */
export type Step = (ReplayStep | ToolStep | InvalidStep | RetryStep | CondensationStep) & {
  usage?: ModelUsage;
  reasoning?: Reasoning;
};

/** Throws ReplayError with the path of the first error. */
export function readSteps(document: unknown): ReplayStep[] {
  const result = v.safeParse(v.pipe(v.array(replayStep), v.minLength(1)), document);
  if (result.success) return result.output;
  const [issue] = result.issues;
  const path = (issue.path ?? []).map((item) => String(item.key)).join('.');
  throw new ReplayError(`replay${path === '' ? '' : ` at ${path}`}: ${issue.message}`);
}
