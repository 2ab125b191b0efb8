/** The step of each tool call of the model. */
import { jsonSchema, tool, type ToolSet } from 'ai';
import * as v from 'valibot';
import { EDITOR_COMMANDS, type ModelCall, RISKS, type Step, TASK_STATUSES } from '../steps.ts';
import { isRecord } from '../../../protocol/shape.ts';
import type { ToolCall } from './call.ts';
import type { ToolDefinition } from './definitions.ts';
import { riskOf } from './risk.ts';

export function toolSet(definitions: readonly ToolDefinition[]): ToolSet {
  return Object.fromEntries(
    definitions.map(({ name, description, parameters }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters) }),
    ]),
  );
}

/** Models write "true", "5" and null for true, 5 and nothing. */
const loosely = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.nullish(
    v.pipe(
      v.unknown(),
      v.transform((given) => {
        if (typeof given !== 'string') return given;
        try {
          return JSON.parse(given) as unknown;
        } catch {
          return given;
        }
      }),
      schema,
    ),
  );
const risk = v.fallback(v.optional(v.picklist(RISKS)), undefined);
const lineNumber = loosely(v.pipe(v.number(), v.integer()));
const optionalText = v.nullish(v.string());

const INPUTS = {
  terminal: v.object({
    command: v.string(),
    timeout: loosely(v.pipe(v.number(), v.minValue(0))),
    reset: loosely(v.boolean()),
    security_risk: risk,
  }),
  file_editor: v.object({
    command: v.picklist(EDITOR_COMMANDS),
    path: v.string(),
    file_text: optionalText,
    old_str: optionalText,
    new_str: optionalText,
    insert_line: lineNumber,
    view_range: loosely(v.tuple([v.number(), v.number()])),
    security_risk: risk,
  }),
  task_tracker: v.object({
    command: v.picklist(['view', 'plan']),
    task_list: v.optional(
      v.array(
        v.object({
          title: v.string(),
          notes: v.optional(v.string(), ''),
          status: v.fallback(v.picklist(TASK_STATUSES), 'todo'),
        }),
      ),
      [],
    ),
  }),
  think: v.object({ thought: v.string() }),
  finish: v.object({ message: v.string() }),
};

/** The step of a call. A call that cannot be executed becomes a step with an error for the model. */
export function stepOf(call: ToolCall, thought: string, modelCall: ModelCall, mcpTools: ReadonlySet<string>): Step {
  const { name, input } = call;
  const refuse = (error: string): Step => ({ type: 'invalid', thought, error, call: modelCall });
  if (call.error !== null) return refuse(call.error);
  if (mcpTools.has(name)) {
    if (!isRecord(input)) return refuse(`Wrong arguments for ${name}: they are not an object.`);
    const { security_risk: given, ...data } = input;
    const known = RISKS.find((each) => each === given);
    return { type: 'mcp', name, data, thought, risk: known, call: modelCall };
  }
  const parse = <Schema extends v.GenericSchema>(schema: Schema): v.InferOutput<Schema> => {
    const result = v.safeParse(schema, input);
    if (result.success) return result.output;
    throw new WrongArguments(
      result.issues.map((issue) => `${v.getDotPath(issue) ?? 'arguments'}: ${issue.message}`).join('; '),
    );
  };
  try {
    switch (name as keyof typeof INPUTS) {
      case 'terminal': {
        const { command, timeout, reset, security_risk: given } = parse(INPUTS.terminal);
        const step = { type: 'terminal', command, is_input: false, reset: reset ?? false, thought } as const;
        return { ...step, timeout_seconds: timeout ?? undefined, risk: riskOf(command, given), call: modelCall };
      }
      case 'file_editor': {
        const { security_risk: given, ...members } = parse(INPUTS.file_editor);
        const present = Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null));
        const step = { ...(present as Pick<typeof members, 'command' | 'path'>), type: 'edit', thought } as const;
        return { ...step, risk: given, call: modelCall };
      }
      case 'task_tracker':
        return { type: 'task_tracker', ...parse(INPUTS.task_tracker), thought, call: modelCall };
      case 'think':
        return { type: 'think', ...parse(INPUTS.think), call: modelCall };
      case 'finish':
        return { type: 'finish', ...parse(INPUTS.finish), thought, call: modelCall };
      default:
        return refuse(`There is no tool ${name}.`);
    }
  } catch (error) {
    if (error instanceof WrongArguments) return refuse(`Wrong arguments for ${name}: ${error.message}`);
    throw error;
  }
}

class WrongArguments extends Error {}
