import { toJsonSchema } from '@valibot/to-json-schema';
import { type JSONSchema7, jsonSchema, tool, type ToolSet } from 'ai';
import * as v from 'valibot';
import {
  EDITOR_COMMANDS,
  type ModelCall,
  RISKS,
  type Step,
  TASK_STATUSES,
} from '../../base/steps.ts';
import type { ToolCall } from './call.ts';
import type { BuiltInTool } from './definitions.ts';
import { argumentsOf, correctedArguments } from './repair.ts';
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
        v.description(
          'Seconds after which the command is ended, and the wait for it. Default: 600.',
        ),
      ),
    ),
    is_input: v.optional(
      v.pipe(v.boolean(), v.description('The command is for the one that is still running.')),
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
  finish: v.object({ message: v.optional(text('What was done, for the user.')) }),
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

/** A tool of an MCP server may have an argument of this name itself. */
function hasOwnRisk({ properties }: JSONSchema7): boolean {
  return properties?.['security_risk'] !== undefined;
}

function withRisk(parameters: JSONSchema7): JSONSchema7 {
  if (hasOwnRisk(parameters)) return parameters;
  return {
    ...parameters,
    properties: { ...parameters.properties, security_risk: SECURITY_RISK },
    required: [...new Set([...(parameters.required ?? []), 'security_risk'])],
  };
}

/** `call.name` is one of the offered tools where it means one. */
export function stepOf(
  call: Pick<ToolCall, 'name' | 'input'>,
  thought: string,
  modelCall: ModelCall,
  mcpTools: ReadonlyMap<string, McpTool>,
): Step {
  const { name } = call;
  const refuse = (error: string): Step => ({ type: 'invalid', thought, error, call: modelCall });
  const input = argumentsOf(call.input);
  if (input === null) return refuse(`Wrong arguments for ${name}: they are not a JSON object.`);
  const { security_risk, ...data } = input;
  const risk = RISKS.find((each) => each === security_risk);
  const mcp = mcpTools.get(name);
  if (mcp !== undefined) {
    const own = hasOwnRisk(mcp.parameters) ? input : data;
    return { type: 'mcp', name, data: own, thought, risk, call: modelCall };
  }
  if (!isBuiltIn(name)) return refuse(`There is no tool ${name}.`);
  const { entries }: { entries: v.ObjectEntries } = ARGUMENTS[name];
  const corrected = correctedArguments(data, new Set(Object.keys(entries)), (member, value) =>
    v.is(entries[member] ?? v.never(), value),
  );
  const parsed = v.safeParse(ARGUMENTS[name], corrected);
  if (!parsed.success) {
    const issues = parsed.issues.map(
      (issue) => `${v.getDotPath(issue) ?? 'arguments'}: ${issue.message}`,
    );
    return refuse(`Wrong arguments for ${name}: ${issues.join('; ')}`);
  }
  const step = { thought, call: modelCall, ...parsed.output };
  if ('path' in step) return { ...step, type: 'edit', risk } as Step;
  if (name === 'finish') return { message: thought, ...step, type: 'finish' };
  if (name !== 'terminal') return { ...step, type: name } as Step;
  const {
    timeout,
    is_input = false,
    reset = false,
    ...terminal
  } = step as typeof step & v.InferOutput<typeof ARGUMENTS.terminal>;
  return {
    ...terminal,
    type: 'terminal',
    is_input,
    reset,
    timeout_seconds: timeout,
    risk: riskOf(terminal.command, risk),
  };
}

function isBuiltIn(name: string): name is keyof typeof ARGUMENTS {
  return Object.hasOwn(ARGUMENTS, name);
}
