import { flatten, type CompletionCommand, type CompletionFlag, type Values } from './tree.ts';
import { childLine, quote, valueLines } from './cases.ts';

/** Serves both ways: found in $fpath as _acs, or evaluated. */
export function zshScript(root: CompletionCommand): string {
  const all = flatten(root);
  return `#compdef acs
# zsh completion for acs. Generated: acs completion zsh
# To use it: source <(acs completion zsh), after compinit

# The command that a word leads to from another: an alias gives the name.
_acs_child() {
  case "$1 $2" in
${all.flatMap((parent) => parent.commands.map((child) => childLine(parent, child))).join('\n')}
    *) return 1 ;;
  esac
}

_acs_flags() {
  case "$1" in
${all.map((command) => `    ${quote(command.path)}) reply=(${flagList(command.flags)}) ;;`).join('\n')}
  esac
  [[ "$1" == ${root.path} ]] || reply+=(${flagList(root.flags)})
}

_acs_commands() {
  case "$1" in
${all
  .filter((command) => command.commands.length > 0)
  .map(
    (command) =>
      `    ${quote(command.path)}) reply=(${command.commands.map((child) => described(child.names[0] ?? '', child.description)).join(' ')}) ;;`,
  )
  .join('\n')}
    *) return 1 ;;
  esac
}

# What a flag or the first argument takes: words in reply, or nothing for files. Fails for a flag without a value.
_acs_values() {
  reply=()
  case "$1 $2" in
${valueLines(root, all, reply).join('\n')}
    *) return 1 ;;
  esac
  return 0 # though no names of profiles could be had
}

_acs() {
  local at=${root.path} flag='' word REPLY
  local -a reply
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      --) _files; return ;;
      --*=*) ;;
      -*)
        if _acs_values "$at" "$word"; then
          flag="$word"
          ((i++))
          ((i < CURRENT)) && flag=''
        fi
        ;;
      *) _acs_child "$at" "$word" && at="$REPLY" ;;
    esac
  done
  word="\${words[CURRENT]}"
  if [[ "$word" == --*=* ]]; then
    flag="\${word%%=*}"
    compset -P '*='
  fi
  if [[ -n "$flag" ]]; then
    _acs_values "$at" "$flag" && ((\${#reply})) && compadd -- "\${reply[@]}" || _files
  elif [[ "$word" == -* ]]; then
    _acs_flags "$at" && _describe -o 'flag' reply
  elif _acs_commands "$at"; then
    _describe 'command' reply
  elif _acs_values "$at" argument && ((\${#reply})); then
    compadd -- "\${reply[@]}"
  else
    _files
  fi
}

if [ "\${funcstack[1]}" = '_acs' ]; then
  _acs "$@"
else
  compdef _acs acs
fi
`;
}

function reply(values: Values): string {
  if (values.kind === 'choices') return `reply=(${values.words.map(quote).join(' ')})`;
  return values.kind === 'profiles' ? 'reply=(${(f)"$(acs __complete profiles 2>/dev/null)"})' : ':';
}

function flagList(flags: CompletionFlag[]): string {
  return flags.flatMap((flag) => flag.names.map((name) => described(name, flag.description))).join(' ');
}

/** `_describe` splits at the first colon. */
function described(name: string, description: string): string {
  return quote(`${name.replaceAll(':', '\\:')}:${description}`);
}
