/**
 * How a command says what it is. Every verb has a file that exports `declare<Verb>(parent, ctx)` and the function that
 * does it; help states what it prints as JSON, its exit codes and at least two examples.
 */
import type { Command } from 'commander';
import { EXIT_CODES, type ErrorKind } from '../errors.ts';

export interface CommandHelp {
  /** One line per form of the JSON output. */
  json?: string[];
  /** Kinds a script should expect besides ok, usage, config, auth, server and network. */
  exits?: ErrorKind[];
  examples: { command: string; does: string }[];
  /** Paragraphs before the JSON shape, each with its own line ends. */
  notes?: string[];
}

const ALWAYS: (keyof typeof EXIT_CODES)[] = ['ok', 'usage', 'config', 'auth', 'server', 'network'];

/** Adds to the help of a command, in this order: notes, JSON, exit codes, examples. */
export function explain(command: Command, help: CommandHelp): Command {
  return command.addHelpText('after', () => helpText(help));
}

function helpText(help: CommandHelp): string {
  const codes = [...ALWAYS, ...(help.exits ?? [])]
    .map((kind) => [EXIT_CODES[kind], kind] as const)
    .sort((a, b) => a[0] - b[0])
    .map(([code, kind]) => `${code} ${kind}`);
  const parts = [
    ...(help.notes ?? []).map((note) => `\n${note}`),
    ...(help.json ? [`\nJSON:\n${help.json.map((line) => `  ${line}`).join('\n')}`] : []),
    `\nExit codes: ${codes.join(', ')}`,
    `\nExamples:\n${help.examples.map(({ command, does }) => `  ${command}\n      ${does}`).join('\n')}`,
  ];
  return parts.join('\n');
}
