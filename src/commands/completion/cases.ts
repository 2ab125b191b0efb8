/** The branches of a `case` that bash and zsh share: places on the command line, and what can stand there. */
import { shellQuote } from '../../text/shell-quote.ts';
import type { CompletionCommand, Values } from './tree.ts';

/** Flags that choose the server, which the hidden command has to know too. */
export const SERVER_FLAGS = ['-p', '--profile', '--base-url'];

/** From a command and the name of one of its own to that command. */
export function childLine(parent: CompletionCommand, child: CompletionCommand): string {
  const patterns = child.names.map((name) => shellQuote(`${parent.path} ${name}`));
  return `    ${patterns.join(' | ')}) REPLY=${shellQuote(child.path)} ;;`;
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
            names.map((name) =>
              command === root ? `*${shellQuote(` ${name}`)}` : shellQuote(`${command.path} ${name}`),
            ),
            value,
          ),
        ];
      }),
    ),
    ...all.flatMap(({ path, argument, isVariadic }) => {
      if (argument === null) return [];
      const places = isVariadic ? ['argument', 'further'] : ['argument'];
      return [
        line(
          places.map((place) => shellQuote(`${path} ${place}`)),
          argument,
        ),
      ];
    }),
  ];
}
