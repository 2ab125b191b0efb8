import { flatten, type CompletionCommand, type CompletionFlag, type Values } from './tree.ts';

export function fishScript(root: CompletionCommand): string {
  const all = flatten(root);
  return `# fish completion for acs. Generated: acs completion fish
# To use it: acs completion fish > ~/.config/fish/completions/acs.fish

# The command that the words before the cursor lead to: an alias gives the name.
function __acs_at
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
  return [...flags, ...children, ...argumentLine(command.argument, at)];
}

function argumentLine(argument: Values | null, at: string): string[] {
  if (argument === null) return [];
  return [argument.kind === 'any' ? `${at} -F` : `${at} -a ${candidates(argument)}`];
}

function flagLine(flag: CompletionFlag, condition: string | null): string {
  const names = flag.names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const values =
    flag.value === null ? [] : flag.value.kind === 'any' ? ['-r', '-F'] : ['-x', '-a', candidates(flag.value)];
  const parts = ['complete -c acs', ...(condition === null ? [] : ['-n', quote(condition)]), ...names, ...values];
  return [...parts, '-d', quote(flag.description)].join(' ');
}

function candidates(values: Exclude<Values, { kind: 'any' }>): string {
  return quote(values.kind === 'profiles' ? '(acs __complete profiles 2>/dev/null)' : values.words.join(' '));
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
