import { toJsonSchema } from '@valibot/to-json-schema';
import { type JSONSchema7, jsonSchema, tool, type ToolSet } from 'ai';
import * as v from 'valibot';
import { isRecord } from '../../../protocol/shape.ts';
import {
  EDITOR_COMMANDS,
  type ModelCall,
  RISKS,
  type Step,
  TASK_STATUSES,
} from '../../base/steps.ts';
import type { ToolCall } from './call.ts';
import type { BuiltInTool } from './definitions.ts';
import { riskOf } from './risk.ts';

export interface McpTool {
  name: string;
  description: string;
  parameters: JSONSchema7;
}

const text = (description: string) => v.pipe(v.string(), v.description(description));
const integer = v.pipe(v.number(), v.integer());

const ARGUMENTS = {
  terminal: v.object({
    command: text('The command, in one or more lines.'),
    timeout: v.optional(
      v.pipe(
        v.number(),
        v.minValue(0),
        v.description('Seconds after which the command is ended. Default: 600.'),
      ),
    ),
    reset: v.optional(
      v.pipe(
        v.boolean(),
        v.description('Start with the directory and environment of the first command.'),
      ),
    ),
  }),
  file_editor: v.object({
    command: v.picklist(EDITOR_COMMANDS),
    path: text('Absolute, or relative to the working directory.'),
    file_text: v.optional(text('For `create`: the content.')),
    old_str: v.optional(text('For `str_replace`: the text to replace, with its indentation.')),
    new_str: v.optional(text('For `str_replace` and `insert`.')),
    insert_line: v.optional(v.pipe(integer, v.description('For `insert`; 0 is the top.'))),
    view_range: v.optional(
      v.pipe(
        v.array(integer),
        v.length(2),
        v.description('For `view`: first and last line; -1: the end.'),
      ),
    ),
  }),
  task_tracker: v.object({
    command: v.picklist(['view', 'plan']),
    task_list: v.optional(
      v.array(
        v.object({
          title: v.string(),
          notes: v.optional(v.string(), ''),
          status: v.optional(v.picklist(TASK_STATUSES), 'todo'),
        }),
      ),
      [],
    ),
  }),
  think: v.object({ thought: v.string() }),
  finish: v.object({ message: text('What was done, for the user.') }),
};

const SECURITY_RISK: JSONSchema7 = {
  type: 'string',
  enum: ['LOW', 'MEDIUM', 'HIGH'],
  description:
    'LOW: reads, or changes files of the workspace. MEDIUM: changes more than that, and can ' +
    'be undone. HIGH: cannot be undone, sends data out of the sandbox, or runs code from an ' +
    'unknown source.',
};

export function toolSet(builtIn: readonly BuiltInTool[], mcp: readonly McpTool[]): ToolSet {
  const own = builtIn.map(({ name, description }) => {
    const { $schema: _, ...parameters } = toJsonSchema(ARGUMENTS[name], { typeMode: 'input' });
    const hasRisk = name === 'terminal' || name === 'file_editor';
    return { name, description, parameters: hasRisk ? withRisk(parameters) : parameters };
  });
  return Object.fromEntries(
    [...own, ...mcp.map((each) => ({ ...each, parameters: withRisk(each.parameters) }))].map(
      ({ name, description, parameters }) => [
        name,
        tool({ description, inputSchema: jsonSchema(parameters) }),
      ],
    ),
  );
}

function withRisk(parameters: JSONSchema7): JSONSchema7 {
  return {
    ...parameters,
    properties: { ...parameters.properties, security_risk: SECURITY_RISK },
    required: [...new Set([...(parameters.required ?? []), 'security_risk'])],
  };
}

/** The step of a call that cannot be executed has an error for the model. */
export function stepOf(
  call: ToolCall,
  thought: string,
  modelCall: ModelCall,
  mcpTools: ReadonlySet<string>,
): Step {
  const { name, input } = call;
  const refuse = (error: string): Step => ({ type: 'invalid', thought, error, call: modelCall });
  if (call.error !== null) return refuse(call.error);
  if (!isRecord(input)) return refuse(`Wrong arguments for ${name}: they are not an object.`);
  const { security_risk, ...data } = input;
  const risk = RISKS.find((each) => each === security_risk);
  if (mcpTools.has(name)) return { type: 'mcp', name, data, thought, risk, call: modelCall };
  if (!isBuiltIn(name)) return refuse(`There is no tool ${name}.`);
  const parsed = v.safeParse(ARGUMENTS[name], corrected(data, ARGUMENTS[name].entries));
  if (!parsed.success) {
    const issues = parsed.issues.map(
      (issue) => `${v.getDotPath(issue) ?? 'arguments'}: ${issue.message}`,
    );
    return refuse(`Wrong arguments for ${name}: ${issues.join('; ')}`);
  }
  const step = { thought, call: modelCall, ...parsed.output };
  if ('path' in step) return { ...step, type: 'edit', risk } as Step;
  if (name !== 'terminal') return { ...step, type: name } as Step;
  const { timeout, reset = false, ...terminal } = step as typeof step & TerminalArguments;
  return {
    ...terminal,
    type: 'terminal',
    // Models that know the tool of openhands-sdk use this argument, which is not offered.
    is_input: data['is_input'] === true || data['is_input'] === 'true',
    reset,
    timeout_seconds: timeout,
    risk: riskOf(terminal.command, risk),
  };
}

type TerminalArguments = v.InferOutput<(typeof ARGUMENTS)['terminal']>;

function isBuiltIn(name: string): name is keyof typeof ARGUMENTS {
  return Object.hasOwn(ARGUMENTS, name);
}

/** Models write "true" for true, "5" for 5, and null for an absent argument. */
function corrected(
  data: Record<string, unknown>,
  entries: v.ObjectEntries,
): Record<string, unknown> {
  const present = Object.entries(data).filter(([, value]) => value !== null);
  return Object.fromEntries(
    present.map(([name, value]) => {
      const schema = entries[name];
      if (typeof value !== 'string' || schema === undefined || v.is(schema, value))
        return [name, value];
      try {
        return [name, JSON.parse(value)];
      } catch {
        return [name, value];
      }
    }),
  );
}
