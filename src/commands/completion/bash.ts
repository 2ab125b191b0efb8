import { flatten, type CompletionCommand, type Values } from './tree.ts';
import { childLine, SERVER_FLAGS, valueLines } from './cases.ts';
import { shellQuote } from '../../text/shell-quote.ts';

/** Works from bash 3.2 on and without the package bash-completion. */
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
${all.map((command) => `    ${shellQuote(command.path)}) REPLY=${shellQuote(flagNames(command).join(' '))} ;;`).join('\n')}
  esac
  [ "$1" = ${root.path} ] || REPLY="$REPLY ${flagNames(root).join(' ')}"
}

_acs_commands() {
  case "$1" in
${all
  .filter((command) => command.commands.length > 0)
  .map(
    (command) =>
      `    ${shellQuote(command.path)}) REPLY=${shellQuote(command.commands.map((child) => child.names[0]).join(' '))} ;;`,
  )
  .join('\n')}
    *) return 1 ;;
  esac
}

# What a flag, the first argument or a further one takes: words in REPLY, the kind of names that acs knows, or files.
# Fails for a flag without a value.
_acs_values() {
  REPLY='' names='' files=''
  case "$1 $2" in
${valueLines(root, all, reply).join('\n')}
    *) return 1 ;;
  esac
}

_acs() {
  local at=${root.path} current="\${COMP_WORDS[COMP_CWORD]}" flag='' place=argument prefix='' names='' files='' word i REPLY
  local server=()
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
          if [ "$i" -lt "$COMP_CWORD" ]; then
            case "$flag" in ${SERVER_FLAGS.join(' | ')}) server+=("$flag" "\${COMP_WORDS[i]}") ;; esac
            flag=''
          fi
        fi
        ;;
      *) if _acs_child "$at" "$word"; then at="$REPLY"; else place=further; fi ;;
    esac
  done
  [ "$current" = '=' ] && current=''
  REPLY='' names='' files=''
  if [ -n "$flag" ]; then
    _acs_values "$at" "$flag"
  elif [[ "$current" == -* ]]; then
    _acs_flags "$at"
  elif ! _acs_commands "$at"; then
    _acs_values "$at" "$place"
  fi
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -W "$REPLY" -- "$current"))
    local IFS=$'\\n'
    COMPREPLY+=($(compgen -f -- "$current"))
    return
  fi
  # Without titles; bash breaks a word at a colon, so that such a name cannot be completed.
  [ -n "$names" ] && REPLY="$(acs __complete "$names" \${server[@]+"\${server[@]}"} 2>/dev/null | cut -f 1 | grep -v :)"
  # Of several values separated by commas the last one is completed, and the others are not offered again.
  if [[ "$current" == *,* ]]; then
    prefix="\${current%,*},"
    local words=$REPLY
    REPLY=''
    for word in $words; do
      [[ ",$prefix" == *",$word,"* ]] || REPLY="$REPLY $word"
    done
  fi
  COMPREPLY=($(compgen -P "$prefix" -W "$REPLY" -- "\${current#"$prefix"}"))
}

complete -F _acs acs
`;
}

function reply(values: Values): string {
  switch (values.kind) {
    case 'choices':
      return `REPLY=${shellQuote(values.words.join(' '))}`;
    case 'names':
      return `names=${values.of}`;
    case 'files':
      return values.words.length === 0 ? 'files=1' : `files=1 REPLY=${shellQuote(values.words.join(' '))}`;
    case 'free':
      return ':';
  }
}

function flagNames(command: CompletionCommand): string[] {
  return command.flags.flatMap((flag) => flag.names);
}
