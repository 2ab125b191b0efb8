/** What bash and zsh write alike: the branches of a `case`, each a place on the command line and what can stand there. */
import type { CompletionCommand, Values } from './tree.ts';

/** From a command and the name of one of its own to that command. */
export function childLine(parent: CompletionCommand, child: CompletionCommand): string {
  const patterns = child.names.map((name) => quote(`${parent.path} ${name}`));
  return `    ${patterns.join(' | ')}) REPLY=${quote(child.path)} ;;`;
}

/**
 * From a flag or an argument to its values, as `reply` writes them. A star before a name: global flags are known
 * everywhere.
 */
export function valueLines(
  root: CompletionCommand,
  all: CompletionCommand[],
  reply: (values: Values) => string,
): string[] {
  const line = (patterns: string[], values: Values) => `    ${patterns.join(' | ')}) ${reply(values)} ;;`;
  return [
    ...all.flatMap((command) =>
      command.flags.flatMap(({ names, value }) => {
        if (value === null) return [];
        return [
          line(
            names.map((name) => (command === root ? `*${quote(` ${name}`)}` : quote(`${command.path} ${name}`))),
            value,
          ),
        ];
      }),
    ),
    ...all.flatMap(({ path, argument }) => (argument ? [line([quote(`${path} argument`)], argument)] : [])),
  ];
}

/** A word as both shells take it literally. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
