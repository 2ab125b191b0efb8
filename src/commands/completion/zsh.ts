import { flatten, type CompletionCommand, type CompletionFlag, type Values } from './tree.ts';
import { childLine, SERVER_FLAGS, valueLines } from './cases.ts';
import { shellQuote } from '../../text/shell-quote.ts';

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
${all.map((command) => `    ${shellQuote(command.path)}) reply=(${flagList(command.flags)}) ;;`).join('\n')}
  esac
  [[ "$1" == ${root.path} ]] || reply+=(${flagList(root.flags)})
}

_acs_commands() {
  case "$1" in
${all
  .filter((command) => command.commands.length > 0)
  .map(
    (command) =>
      `    ${shellQuote(command.path)}) reply=(${command.commands.map((child) => described(child.names[0] ?? '', child.description)).join(' ')}) ;;`,
  )
  .join('\n')}
    *) return 1 ;;
  esac
}

# What a flag, the first argument or a further one takes: words in reply, the kind of names that acs knows, or files.
# Fails for a flag without a value.
_acs_values() {
  reply=() names='' files=''
  case "$1 $2" in
${valueLines(root, all, reply).join('\n')}
    *) return 1 ;;
  esac
}

# Offers what _acs_values has found; of several values separated by commas the last one is completed, and the others
# are not offered again.
_acs_offer() {
  local line
  if [[ -n "$files" ]]; then
    ((\${#reply})) && compadd -- "\${reply[@]}"
    _files
    return
  fi
  compset -P '*,'
  local -a before=("\${(@s:,:)IPREFIX##*=}")
  if [[ -n "$names" ]]; then
    for line in "\${(@f)$(acs __complete "$names" "\${server[@]}" 2>/dev/null)}"; do
      [[ -n "$line" ]] || continue
      word="\${line%%$'\\t'*}"
      ((\${before[(Ie)$word]})) && continue
      line="\${line#"$word"}"
      reply+=("\${word//:/\\\\:}\${line:+:\${line#$'\\t'}}")
    done
    ((\${#reply})) && _describe 'value' reply
  else
    reply=("\${(@)reply:|before}")
    ((\${#reply})) && compadd -- "\${reply[@]}"
  fi
}

_acs() {
  local at=${root.path} flag='' place=argument names='' files='' word REPLY
  local -a reply server
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    case "$word" in
      --) return 1 ;;
      --*=*) ;;
      -*)
        if _acs_values "$at" "$word"; then
          flag="$word"
          ((i++))
          if ((i < CURRENT)); then
            case "$flag" in ${SERVER_FLAGS.join(' | ')}) server+=("$flag" "\${(Q)words[i]}") ;; esac
            flag=''
          fi
        fi
        ;;
      *) if _acs_child "$at" "$word"; then at="$REPLY"; else place=further; fi ;;
    esac
  done
  word="\${words[CURRENT]}"
  if [[ "$word" == --*=* ]]; then
    flag="\${word%%=*}"
    compset -P '*='
  fi
  if [[ -n "$flag" ]]; then
    _acs_values "$at" "$flag" && _acs_offer
  elif [[ "$word" == -* ]]; then
    _acs_flags "$at" && _describe -o 'flag' reply
  elif _acs_commands "$at"; then
    _describe 'command' reply
  else
    _acs_values "$at" "$place" && _acs_offer
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
  switch (values.kind) {
    case 'choices':
      return `reply=(${values.words.map(shellQuote).join(' ')})`;
    case 'names':
      return `names=${values.of}`;
    case 'files':
      return values.words.length === 0 ? 'files=1' : `files=1 reply=(${values.words.map(shellQuote).join(' ')})`;
    case 'free':
      return ':';
  }
}

function flagList(flags: CompletionFlag[]): string {
  return flags.flatMap((flag) => flag.names.map((name) => described(name, flag.description))).join(' ');
}

/** `_describe` splits at the first colon. */
function described(name: string, description: string): string {
  return shellQuote(`${name.replaceAll(':', '\\:')}:${description}`);
}
