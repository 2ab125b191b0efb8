/** Calls of tools in forms that models know from other agents, or that are not quite JSON. */
import { jsonrepair } from 'jsonrepair';
import { isRecord } from '../../../protocol/shape.ts';
import { shellQuote } from '../../../base/text/shell-quote.ts';

/** Names in the tools of other agents. */
const TOOLS = new Map([
  ['bash', 'terminal'],
  ['execute_bash', 'terminal'],
  ['execute_command', 'terminal'],
  ['run_command', 'terminal'],
  ['run_shell_command', 'terminal'],
  ['shell', 'terminal'],
  ['edit', 'file_editor'],
  ['editor', 'file_editor'],
  ['str_replace_based_edit_tool', 'file_editor'],
  ['str_replace_editor', 'file_editor'],
  ['plan', 'task_tracker'],
  ['update_plan', 'task_tracker'],
]);

/** The names of arguments in the tools of other agents. */
const ARGUMENTS = new Map([
  ['cmd', 'command'],
  ['file_path', 'path'],
  ['filename', 'path'],
  ['content', 'file_text'],
  ['new_string', 'new_str'],
  ['old_string', 'old_str'],
  ['answer', 'message'],
  ['result', 'message'],
  ['summary', 'message'],
]);

/** Quotes that are not escaped make the time of a repair quadratic: 0.5 s at this length. */
const LONGEST_REPAIRED = 64 * 1024;

/** The offered tool that a name means, or the name itself. */
export function toolNameOf(name: string, offered: ReadonlySet<string>): string {
  if (offered.has(name)) return name;
  // `functions.terminal`, `terminal<|channel|>commentary`, `TerminalTool`
  const plain = name
    .replace(/<\|.*$/s, '')
    .replace(/^.*[.:]/s, '')
    .replace(/Tool$/, '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toLowerCase();
  const known = TOOLS.get(plain) ?? plain;
  return offered.has(known) ? known : name;
}

/** Reads an object from JSON that may be faulty, fenced, or in a text of JSON. */
export function argumentsOf(input: unknown): Record<string, unknown> | null {
  if (isRecord(input)) return input;
  if (typeof input !== 'string') return null;
  if (input.trim() === '') return {};
  const value = parsed(input);
  const inner = typeof value === 'string' ? parsed(value) : value;
  return isRecord(inner) ? inner : null;
}

/** A text without an end is not completed: half a command would be executed. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (text.length > LONGEST_REPAIRED || !/[}"]\s*(?:```\s*)?$/.test(text)) return null;
  }
  try {
    return JSON.parse(jsonrepair(text));
  } catch {
    return null;
  }
}

/** With the names of a tool, without null and empty lists; `takes`: whether a value is accepted. */
export function correctedArguments(
  input: Record<string, unknown>,
  names: ReadonlySet<string>,
  takes: (name: string, value: unknown) => boolean,
): Record<string, unknown> {
  const corrected: Record<string, unknown> = {};
  for (const [own, value] of Object.entries(input)) {
    const alias = ARGUMENTS.get(own) ?? own;
    const name = names.has(own) || !names.has(alias) || alias in input ? own : alias;
    if (value === null) continue;
    if (!names.has(name) || takes(name, value)) corrected[name] = value;
    else if (!Array.isArray(value) || value.length > 0) corrected[name] = converted(value);
  }
  return corrected;
}

/** Models write "true" for true, "5" for 5, and the words of a command as a list. */
function converted(value: unknown): unknown {
  if (typeof value === 'string') return parsed(value) ?? value;
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string')) return value;
  const [program = '', flags = '', script] = value;
  const isScript = value.length === 3 && /^(?:\/bin\/)?(?:ba)?sh$/.test(program);
  return isScript && /^-\w*c$/.test(flags) ? script : value.map(shellQuote).join(' ');
}
