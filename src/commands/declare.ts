/**
 * How a command describes itself. Every verb has a file that exports `declare<Verb>(parent, ctx)` and the function that
 * does it; help states what it prints as JSON, its exit codes and at least two examples.
 */
import type { Command } from 'commander';
import type { ErrorKind } from '../errors.ts';
import type { RecordShape } from '../output/view.ts';

export interface Example {
  command: string;
  does: string;
}

export type JsonForm = string | readonly [when: string, form: string];

/** What writes forms of JSON; given to a command when its help is printed, because nothing else needs it. */
export interface JsonForms {
  /** `<sandbox>`, and what the object has besides: `<sandbox> plus "changed"`. */
  objectForm(shape: RecordShape, ...members: readonly string[]): string;
  listForm(...shapes: readonly RecordShape[]): string;
  /** Of a command that changes one thing, or several. */
  changeForms(shape: RecordShape, cases?: readonly [one: string, several: string]): JsonForm[];
}

export interface CommandHelp {
  /** One entry per form of the JSON output, with the case it is for where there are several. */
  json?: (forms: JsonForms) => readonly JsonForm[];
  /** Kinds a script should expect besides ok, usage, config, auth, server and network. */
  exits?: readonly ErrorKind[];
  /** All kinds, of a command to which the failure of a request is a result. */
  onlyExits?: readonly ErrorKind[];
  examples: readonly Example[];
  /**
   * The command line has a program after `--`, which the action gets as the option `program`. The exit code is that of
   * the program; a failure of acs has this code, whatever its kind, except `unsupported` and `interrupted`.
   */
  failureCode?: number;
  /** Paragraphs, and lists of terms with their meaning; they have no line breaks of their own. */
  notes?: readonly (string | { title: string; items: readonly (readonly [term: string, meaning: string])[] })[];
}

const EXPLANATIONS = new WeakMap<Command, CommandHelp>();

/** Adds to the help of a command, in this order: notes, JSON, exit codes, examples. */
export function explain(command: Command, help: CommandHelp): Command {
  EXPLANATIONS.set(command, help);
  return command;
}

/** Undefined for a command that only groups others. */
export function explanationOf(command: Command): CommandHelp | undefined {
  return EXPLANATIONS.get(command);
}
