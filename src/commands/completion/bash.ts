import { flatten, type CompletionCommand, type Values } from './tree.ts';
import { childLine, quote, valueLines } from './cases.ts';

/** Works from bash 3.2 on and without the package bash-completion. Where it has nothing to say, bash completes files. */
export function bashScript(root: CompletionCommand): string {
  const all = flatten(root);
  return `# bash completion for acs. Generated: acs completion bash
# To use it: source <(acs completion bash)

# The command that a word leads to from another: an alias gives the name.
_acs_child() {
  case "$1 $2" in
${all.flatMap((parent) => parent.commands.map((child) => childLine(parent, child))).join('\n')}
    *) return 1 ;;
  esac
}

_acs_flags() {
  case "$1" in
${all.map((command) => `    ${quote(command.path)}) REPLY=${quote(flagNames(command).join(' '))} ;;`).join('\n')}
  esac
  [ "$1" = ${root.path} ] || REPLY="$REPLY ${flagNames(root).join(' ')}"
}

_acs_commands() {
  case "$1" in
${all
  .filter((command) => command.commands.length > 0)
  .map(
    (command) =>
      `    ${quote(command.path)}) REPLY=${quote(command.commands.map((child) => child.names[0]).join(' '))} ;;`,
  )
  .join('\n')}
    *) return 1 ;;
  esac
}

# What a flag or the first argument takes: words in REPLY, or nothing for files. Fails for a flag without a value.
_acs_values() {
  REPLY=''
  case "$1 $2" in
${valueLines(root, all, reply).join('\n')}
    *) return 1 ;;
  esac
  return 0 # though no names of profiles could be had
}

_acs() {
  local at=${root.path} current="\${COMP_WORDS[COMP_CWORD]}" flag='' word i REPLY
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      --) return ;;
      -*)
        if _acs_values "$at" "$word"; then
          flag="$word"
          ((i++))
          # bash splits --flag=value at the sign
          [ "\${COMP_WORDS[i]}" = '=' ] && [ "$i" -lt "$COMP_CWORD" ] && ((i++))
          [ "$i" -lt "$COMP_CWORD" ] && flag=''
        fi
        ;;
      *) _acs_child "$at" "$word" && at="$REPLY" ;;
    esac
  done
  [ "$current" = '=' ] && current=''
  REPLY=''
  if [ -n "$flag" ]; then
    _acs_values "$at" "$flag"
  elif [[ "$current" == -* ]]; then
    _acs_flags "$at"
  elif ! _acs_commands "$at"; then
    _acs_values "$at" argument
  fi
  COMPREPLY=($(compgen -W "$REPLY" -- "$current"))
}

complete -o bashdefault -o default -F _acs acs
`;
}

function reply(values: Values): string {
  if (values.kind === 'choices') return `REPLY=${quote(values.words.join(' '))}`;
  return values.kind === 'profiles' ? 'REPLY="$(acs __complete profiles 2>/dev/null)"' : ':';
}

function flagNames(command: CompletionCommand): string[] {
  return command.flags.flatMap((flag) => flag.names);
}
