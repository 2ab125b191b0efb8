import { SERVER_FLAGS } from './cases.ts';
import { flatten, type CompletionCommand, type CompletionFlag, type Values } from './tree.ts';

export function fishScript(root: CompletionCommand): string {
  const all = flatten(root);
  return `# fish completion for acs. Generated: acs completion fish
# To use it: acs completion fish > ~/.config/fish/completions/acs.fish

# Names that acs knows, of the server that the line names.
function __acs_names
    set -l server
    set -l words (commandline -opc)
    for i in (seq 2 (math (count $words) - 1))
        contains -- $words[$i] ${SERVER_FLAGS.join(' ')}; and set server $server $words[$i] $words[(math $i + 1)]
    end
    acs __complete $argv[1] $server 2>/dev/null
end

# The command that the words before the cursor lead to: an alias gives the name. Counts its arguments in __acs_count.
function __acs_at
    set -g __acs_count 0
    set -l at ${root.path}
    set -l value 0
    set -l words (commandline -opc)
    for word in $words[2..-1]
        if test $value = 1
            set value 0
            continue
        end
        switch "$at $word"
            case '* --*=*'
                continue
${flagCases(root, all)}
${all.flatMap((parent) => parent.commands.map((child) => childCase(parent, child))).join('\n')}
            case '* -*'
                continue
            case '*'
                set __acs_count (math $__acs_count + 1)
        end
    end
    echo $at
end

complete -c acs -f
${root.flags.map((flag) => flagLine(flag, null)).join('\n')}
${all.flatMap((command) => commandLines(command, root)).join('\n')}
`;
}

function childCase(parent: CompletionCommand, child: CompletionCommand): string {
  const patterns = child.names.map((name) => quote(`${parent.path} ${name}`));
  return `            case ${patterns.join(' ')}\n                set at ${quote(child.path)}`;
}

function flagCases(root: CompletionCommand, all: CompletionCommand[]): string {
  const patterns = all.flatMap((command) =>
    command.flags
      .filter((flag) => flag.value !== null)
      .flatMap((flag) => flag.names.map((name) => quote(`${command === root ? '*' : command.path} ${name}`))),
  );
  return `            case ${patterns.join(' ')}\n                set value 1`;
}

function commandLines(command: CompletionCommand, root: CompletionCommand): string[] {
  const condition = `test (__acs_at) = ${JSON.stringify(command.path)}`;
  const at = `complete -c acs -n ${quote(condition)}`;
  const flags = command === root ? [] : command.flags.map((flag) => flagLine(flag, condition));
  const children = command.commands.map(
    (child) => `${at} -a ${quote(child.names[0] ?? '')} -d ${quote(child.description)}`,
  );
  const first = `complete -c acs -n ${quote(`${condition}; and test $__acs_count = 0`)}`;
  return [...flags, ...children, ...argumentLine(command.argument, command.isVariadic ? at : first)];
}

function argumentLine(argument: Values | null, at: string): string[] {
  if (argument === null || argument.kind === 'free') return [];
  return [argument.kind === 'files' ? `${at} -F` : `${at} -a ${candidates(argument)}`];
}

function flagLine(flag: CompletionFlag, condition: string | null): string {
  const names = flag.names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const values = flag.value === null ? [] : valueWords(flag.value);
  const parts = ['complete -c acs', ...(condition === null ? [] : ['-n', quote(condition)]), ...names, ...values];
  return [...parts, '-d', quote(flag.description)].join(' ');
}

function valueWords(values: Values): string[] {
  if (values.kind === 'free') return ['-x'];
  if (values.kind !== 'files') return ['-x', '-a', candidates(values)];
  return ['-r', '-F', ...(values.words.length === 0 ? [] : ['-a', quote(values.words.join(' '))])];
}

function candidates(values: Extract<Values, { kind: 'names' | 'choices' }>): string {
  return quote(values.kind === 'names' ? `(__acs_names ${values.of})` : values.words.join(' '));
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
