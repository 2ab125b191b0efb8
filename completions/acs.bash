# bash completion for acs. Generated: acs completion bash
# To use it: source <(acs completion bash)

# The command that a word leads to from another: an alias gives the name.
_acs_child() {
  case "$1 $2" in
    'acs conv' | 'acs conversation') REPLY='acs conv' ;;
    'acs sandbox' | 'acs sb') REPLY='acs sandbox' ;;
    'acs specs' | 'acs spec') REPLY='acs specs' ;;
    'acs settings' | 'acs setting') REPLY='acs settings' ;;
    'acs secret' | 'acs secrets') REPLY='acs secret' ;;
    'acs profile') REPLY='acs profile' ;;
    'acs whoami') REPLY='acs whoami' ;;
    'acs serve') REPLY='acs serve' ;;
    'acs completion') REPLY='acs completion' ;;
    'acs help') REPLY='acs help' ;;
    'acs conv new' | 'acs conv create') REPLY='acs conv new' ;;
    'acs conv list' | 'acs conv ls') REPLY='acs conv list' ;;
    'acs conv show' | 'acs conv view' | 'acs conv get') REPLY='acs conv show' ;;
    'acs conv follow') REPLY='acs conv follow' ;;
    'acs conv events' | 'acs conv logs') REPLY='acs conv events' ;;
    'acs conv wait') REPLY='acs conv wait' ;;
    'acs conv result') REPLY='acs conv result' ;;
    'acs conv send') REPLY='acs conv send' ;;
    'acs conv confirm') REPLY='acs conv confirm' ;;
    'acs conv stop') REPLY='acs conv stop' ;;
    'acs conv resume') REPLY='acs conv resume' ;;
    'acs conv diff') REPLY='acs conv diff' ;;
    'acs conv rename') REPLY='acs conv rename' ;;
    'acs conv delete' | 'acs conv rm' | 'acs conv remove') REPLY='acs conv delete' ;;
    'acs sandbox list' | 'acs sandbox ls') REPLY='acs sandbox list' ;;
    'acs sandbox show' | 'acs sandbox view' | 'acs sandbox get') REPLY='acs sandbox show' ;;
    'acs sandbox start') REPLY='acs sandbox start' ;;
    'acs sandbox pause') REPLY='acs sandbox pause' ;;
    'acs sandbox resume') REPLY='acs sandbox resume' ;;
    'acs sandbox wait') REPLY='acs sandbox wait' ;;
    'acs sandbox delete' | 'acs sandbox rm' | 'acs sandbox remove') REPLY='acs sandbox delete' ;;
    'acs specs list' | 'acs specs ls') REPLY='acs specs list' ;;
    'acs specs show' | 'acs specs view' | 'acs specs get') REPLY='acs specs show' ;;
    'acs settings get' | 'acs settings show' | 'acs settings view' | 'acs settings list' | 'acs settings ls') REPLY='acs settings get' ;;
    'acs settings set') REPLY='acs settings set' ;;
    'acs settings unset' | 'acs settings rm' | 'acs settings remove' | 'acs settings delete') REPLY='acs settings unset' ;;
    'acs settings edit') REPLY='acs settings edit' ;;
    'acs settings schema') REPLY='acs settings schema' ;;
    'acs settings profile' | 'acs settings profiles') REPLY='acs settings profile' ;;
    'acs settings profile list' | 'acs settings profile ls') REPLY='acs settings profile list' ;;
    'acs settings profile show' | 'acs settings profile view' | 'acs settings profile get') REPLY='acs settings profile show' ;;
    'acs settings profile save') REPLY='acs settings profile save' ;;
    'acs settings profile use') REPLY='acs settings profile use' ;;
    'acs settings profile rename') REPLY='acs settings profile rename' ;;
    'acs settings profile delete' | 'acs settings profile rm' | 'acs settings profile remove') REPLY='acs settings profile delete' ;;
    'acs secret list' | 'acs secret ls') REPLY='acs secret list' ;;
    'acs secret set') REPLY='acs secret set' ;;
    'acs secret delete' | 'acs secret rm' | 'acs secret remove') REPLY='acs secret delete' ;;
    'acs profile add' | 'acs profile create') REPLY='acs profile add' ;;
    'acs profile list' | 'acs profile ls') REPLY='acs profile list' ;;
    'acs profile show' | 'acs profile view' | 'acs profile get') REPLY='acs profile show' ;;
    'acs profile use') REPLY='acs profile use' ;;
    'acs profile rename') REPLY='acs profile rename' ;;
    'acs profile delete' | 'acs profile rm' | 'acs profile remove') REPLY='acs profile delete' ;;
    *) return 1 ;;
  esac
}

_acs_flags() {
  case "$1" in
    'acs') REPLY='-p --profile --base-url --api-key-file --request-timeout --rate --json --format -q --quiet --fields -o --output --no-color --debug --no-input -y --yes --dry-run -V --version -h --help' ;;
    'acs conv') REPLY='-h --help' ;;
    'acs conv new') REPLY='-F --file -r --repo --no-repo -b --branch --git-provider --title --image --instructions --suggested-task --microagent --replay --model --spec --sandbox --mcp-config --secret --members --confirm --id --api --on-confirm --wait --no-wait -f --follow --start-timeout --wait-timeout --stop-on-timeout --stop-on-interrupt --id-file -h --help' ;;
    'acs conv list') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo -L --limit --all-pages -h --help' ;;
    'acs conv show') REPLY='--exit-status -h --help' ;;
    'acs conv follow') REPLY='--kind --source --since --tail --fail-on-stall --wait-timeout --on-confirm -h --help' ;;
    'acs conv events') REPLY='-f --follow -L --limit --kind --source --since --tail --fail-on-stall --wait-timeout --on-confirm -h --help' ;;
    'acs conv wait') REPLY='--any --for --fail-on-stall --on-confirm --wait-timeout -h --help' ;;
    'acs conv result') REPLY='-h --help' ;;
    'acs conv send') REPLY='-F --file --image --resume --accept --reject --wait -f --follow --wait-timeout --on-confirm -h --help' ;;
    'acs conv confirm') REPLY='--accept --reject --reason --action --resume -h --help' ;;
    'acs conv stop') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all -h --help' ;;
    'acs conv resume') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --wait -f --follow --wait-timeout --on-confirm -h --help' ;;
    'acs conv diff') REPLY='--stat --resume -h --help' ;;
    'acs conv rename') REPLY='-h --help' ;;
    'acs conv delete') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --force --with-sandbox --ignore-not-found -h --help' ;;
    'acs sandbox') REPLY='-h --help' ;;
    'acs sandbox list') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo -L --limit --all-pages -h --help' ;;
    'acs sandbox show') REPLY='--show-secrets -h --help' ;;
    'acs sandbox start') REPLY='--spec --wait --no-wait --wait-timeout -h --help' ;;
    'acs sandbox pause') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --wait --no-wait --wait-timeout --force -h --help' ;;
    'acs sandbox resume') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --wait --no-wait --wait-timeout -h --help' ;;
    'acs sandbox wait') REPLY='--for --wait-timeout -h --help' ;;
    'acs sandbox delete') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --wait --no-wait --wait-timeout --force --ignore-not-found -h --help' ;;
    'acs specs') REPLY='-h --help' ;;
    'acs specs list') REPLY='-L --limit --all-pages -h --help' ;;
    'acs specs show') REPLY='-h --help' ;;
    'acs settings') REPLY='-h --help' ;;
    'acs settings get') REPLY='-h --help' ;;
    'acs settings set') REPLY='--file --allow-loss -h --help' ;;
    'acs settings unset') REPLY='--allow-loss -h --help' ;;
    'acs settings edit') REPLY='--allow-loss -h --help' ;;
    'acs settings schema') REPLY='-h --help' ;;
    'acs settings profile') REPLY='-h --help' ;;
    'acs settings profile list') REPLY='-h --help' ;;
    'acs settings profile show') REPLY='-h --help' ;;
    'acs settings profile save') REPLY='-h --help' ;;
    'acs settings profile use') REPLY='-h --help' ;;
    'acs settings profile rename') REPLY='-h --help' ;;
    'acs settings profile delete') REPLY='--ignore-not-found -h --help' ;;
    'acs secret') REPLY='-h --help' ;;
    'acs secret list') REPLY='-L --limit --all-pages -h --help' ;;
    'acs secret set') REPLY='--from-env --description -h --help' ;;
    'acs secret delete') REPLY='--ignore-not-found -h --help' ;;
    'acs profile') REPLY='-h --help' ;;
    'acs profile add') REPLY='--key-command --no-check --replace -h --help' ;;
    'acs profile list') REPLY='-h --help' ;;
    'acs profile show') REPLY='-h --help' ;;
    'acs profile use') REPLY='-h --help' ;;
    'acs profile rename') REPLY='-h --help' ;;
    'acs profile delete') REPLY='--ignore-not-found -h --help' ;;
    'acs whoami') REPLY='-h --help' ;;
    'acs serve') REPLY='--detach --status --stop --logs --prune --host --port --data-dir --api --idle-timeout --scenario --replay -h --help' ;;
    'acs completion') REPLY='-h --help' ;;
    'acs help') REPLY='-h --help' ;;
  esac
  [ "$1" = acs ] || REPLY="$REPLY -p --profile --base-url --api-key-file --request-timeout --rate --json --format -q --quiet --fields -o --output --no-color --debug --no-input -y --yes --dry-run -V --version -h --help"
}

_acs_commands() {
  case "$1" in
    'acs') REPLY='conv sandbox specs settings secret profile whoami serve completion help' ;;
    'acs conv') REPLY='new list show follow events wait result send confirm stop resume diff rename delete' ;;
    'acs sandbox') REPLY='list show start pause resume wait delete' ;;
    'acs specs') REPLY='list show' ;;
    'acs settings') REPLY='get set unset edit schema profile' ;;
    'acs settings profile') REPLY='list show save use rename delete' ;;
    'acs secret') REPLY='list set delete' ;;
    'acs profile') REPLY='add list show use rename delete' ;;
    *) return 1 ;;
  esac
}

# What a flag or the first argument takes: words in REPLY, or nothing for files. Fails for a flag without a value.
_acs_values() {
  REPLY=''
  case "$1 $2" in
    *' -p' | *' --profile') REPLY="$(acs __complete profiles 2>/dev/null)" ;;
    *' --base-url') : ;;
    *' --api-key-file') : ;;
    *' --request-timeout') : ;;
    *' --rate') : ;;
    *' --format') REPLY='table tsv json ndjson id' ;;
    *' --fields') : ;;
    *' -o' | *' --output') : ;;
    'acs conv new -F' | 'acs conv new --file') : ;;
    'acs conv new -r' | 'acs conv new --repo') : ;;
    'acs conv new -b' | 'acs conv new --branch') : ;;
    'acs conv new --git-provider') : ;;
    'acs conv new --title') : ;;
    'acs conv new --image') : ;;
    'acs conv new --instructions') : ;;
    'acs conv new --suggested-task') : ;;
    'acs conv new --microagent') : ;;
    'acs conv new --replay') : ;;
    'acs conv new --model') : ;;
    'acs conv new --spec') : ;;
    'acs conv new --sandbox') : ;;
    'acs conv new --mcp-config') : ;;
    'acs conv new --secret') : ;;
    'acs conv new --members') : ;;
    'acs conv new --confirm') : ;;
    'acs conv new --id') : ;;
    'acs conv new --api') : ;;
    'acs conv new --on-confirm') : ;;
    'acs conv new --start-timeout') : ;;
    'acs conv new --wait-timeout') : ;;
    'acs conv new --id-file') : ;;
    'acs conv list --status') : ;;
    'acs conv list --not-status') : ;;
    'acs conv list --older-than') : ;;
    'acs conv list --not-older-than') : ;;
    'acs conv list --idle') : ;;
    'acs conv list --not-idle') : ;;
    'acs conv list --spec') : ;;
    'acs conv list --not-spec') : ;;
    'acs conv list --repo') : ;;
    'acs conv list --not-repo') : ;;
    'acs conv list -L' | 'acs conv list --limit') : ;;
    'acs conv follow --kind') : ;;
    'acs conv follow --source') : ;;
    'acs conv follow --since') : ;;
    'acs conv follow --tail') : ;;
    'acs conv follow --fail-on-stall') : ;;
    'acs conv follow --wait-timeout') : ;;
    'acs conv follow --on-confirm') : ;;
    'acs conv events -L' | 'acs conv events --limit') : ;;
    'acs conv events --kind') : ;;
    'acs conv events --source') : ;;
    'acs conv events --since') : ;;
    'acs conv events --tail') : ;;
    'acs conv events --fail-on-stall') : ;;
    'acs conv events --wait-timeout') : ;;
    'acs conv events --on-confirm') : ;;
    'acs conv wait --for') : ;;
    'acs conv wait --fail-on-stall') : ;;
    'acs conv wait --on-confirm') : ;;
    'acs conv wait --wait-timeout') : ;;
    'acs conv send -F' | 'acs conv send --file') : ;;
    'acs conv send --image') : ;;
    'acs conv send --wait-timeout') : ;;
    'acs conv send --on-confirm') : ;;
    'acs conv confirm --reason') : ;;
    'acs conv confirm --action') : ;;
    'acs conv stop --status') : ;;
    'acs conv stop --not-status') : ;;
    'acs conv stop --older-than') : ;;
    'acs conv stop --not-older-than') : ;;
    'acs conv stop --idle') : ;;
    'acs conv stop --not-idle') : ;;
    'acs conv stop --spec') : ;;
    'acs conv stop --not-spec') : ;;
    'acs conv stop --repo') : ;;
    'acs conv stop --not-repo') : ;;
    'acs conv resume --status') : ;;
    'acs conv resume --not-status') : ;;
    'acs conv resume --older-than') : ;;
    'acs conv resume --not-older-than') : ;;
    'acs conv resume --idle') : ;;
    'acs conv resume --not-idle') : ;;
    'acs conv resume --spec') : ;;
    'acs conv resume --not-spec') : ;;
    'acs conv resume --repo') : ;;
    'acs conv resume --not-repo') : ;;
    'acs conv resume --wait-timeout') : ;;
    'acs conv resume --on-confirm') : ;;
    'acs conv delete --status') : ;;
    'acs conv delete --not-status') : ;;
    'acs conv delete --older-than') : ;;
    'acs conv delete --not-older-than') : ;;
    'acs conv delete --idle') : ;;
    'acs conv delete --not-idle') : ;;
    'acs conv delete --spec') : ;;
    'acs conv delete --not-spec') : ;;
    'acs conv delete --repo') : ;;
    'acs conv delete --not-repo') : ;;
    'acs sandbox list --status') : ;;
    'acs sandbox list --not-status') : ;;
    'acs sandbox list --older-than') : ;;
    'acs sandbox list --not-older-than') : ;;
    'acs sandbox list --idle') : ;;
    'acs sandbox list --not-idle') : ;;
    'acs sandbox list --spec') : ;;
    'acs sandbox list --not-spec') : ;;
    'acs sandbox list --repo') : ;;
    'acs sandbox list --not-repo') : ;;
    'acs sandbox list -L' | 'acs sandbox list --limit') : ;;
    'acs sandbox start --spec') : ;;
    'acs sandbox start --wait-timeout') : ;;
    'acs sandbox pause --status') : ;;
    'acs sandbox pause --not-status') : ;;
    'acs sandbox pause --older-than') : ;;
    'acs sandbox pause --not-older-than') : ;;
    'acs sandbox pause --idle') : ;;
    'acs sandbox pause --not-idle') : ;;
    'acs sandbox pause --spec') : ;;
    'acs sandbox pause --not-spec') : ;;
    'acs sandbox pause --repo') : ;;
    'acs sandbox pause --not-repo') : ;;
    'acs sandbox pause --wait-timeout') : ;;
    'acs sandbox resume --status') : ;;
    'acs sandbox resume --not-status') : ;;
    'acs sandbox resume --older-than') : ;;
    'acs sandbox resume --not-older-than') : ;;
    'acs sandbox resume --idle') : ;;
    'acs sandbox resume --not-idle') : ;;
    'acs sandbox resume --spec') : ;;
    'acs sandbox resume --not-spec') : ;;
    'acs sandbox resume --repo') : ;;
    'acs sandbox resume --not-repo') : ;;
    'acs sandbox resume --wait-timeout') : ;;
    'acs sandbox wait --for') : ;;
    'acs sandbox wait --wait-timeout') : ;;
    'acs sandbox delete --status') : ;;
    'acs sandbox delete --not-status') : ;;
    'acs sandbox delete --older-than') : ;;
    'acs sandbox delete --not-older-than') : ;;
    'acs sandbox delete --idle') : ;;
    'acs sandbox delete --not-idle') : ;;
    'acs sandbox delete --spec') : ;;
    'acs sandbox delete --not-spec') : ;;
    'acs sandbox delete --repo') : ;;
    'acs sandbox delete --not-repo') : ;;
    'acs sandbox delete --wait-timeout') : ;;
    'acs specs list -L' | 'acs specs list --limit') : ;;
    'acs settings set --file') : ;;
    'acs secret list -L' | 'acs secret list --limit') : ;;
    'acs secret set --from-env') : ;;
    'acs secret set --description') : ;;
    'acs profile add --key-command') : ;;
    'acs serve --prune') : ;;
    'acs serve --host') : ;;
    'acs serve --port') : ;;
    'acs serve --data-dir') : ;;
    'acs serve --api') REPLY='v0 v1 both' ;;
    'acs serve --idle-timeout') : ;;
    'acs serve --scenario') : ;;
    'acs serve --replay') : ;;
    'acs conv new argument') : ;;
    'acs conv show argument') : ;;
    'acs conv follow argument') : ;;
    'acs conv events argument') : ;;
    'acs conv wait argument') : ;;
    'acs conv result argument') : ;;
    'acs conv send argument') : ;;
    'acs conv confirm argument') : ;;
    'acs conv stop argument') : ;;
    'acs conv resume argument') : ;;
    'acs conv diff argument') : ;;
    'acs conv rename argument') : ;;
    'acs conv delete argument') : ;;
    'acs sandbox show argument') : ;;
    'acs sandbox start argument') : ;;
    'acs sandbox pause argument') : ;;
    'acs sandbox resume argument') : ;;
    'acs sandbox wait argument') : ;;
    'acs sandbox delete argument') : ;;
    'acs specs show argument') : ;;
    'acs settings get argument') : ;;
    'acs settings set argument') : ;;
    'acs settings unset argument') : ;;
    'acs settings schema argument') : ;;
    'acs settings profile show argument') : ;;
    'acs settings profile save argument') : ;;
    'acs settings profile use argument') : ;;
    'acs settings profile rename argument') : ;;
    'acs settings profile delete argument') : ;;
    'acs secret set argument') : ;;
    'acs secret delete argument') : ;;
    'acs profile add argument') : ;;
    'acs profile show argument') REPLY="$(acs __complete profiles 2>/dev/null)" ;;
    'acs profile use argument') REPLY="$(acs __complete profiles 2>/dev/null)" ;;
    'acs profile rename argument') REPLY="$(acs __complete profiles 2>/dev/null)" ;;
    'acs profile delete argument') REPLY="$(acs __complete profiles 2>/dev/null)" ;;
    'acs completion argument') REPLY='bash zsh fish powershell' ;;
    'acs help argument') REPLY='conv sandbox specs settings secret profile whoami serve completion exit-codes environment output' ;;
    *) return 1 ;;
  esac
  return 0 # though no names of profiles could be had
}

_acs() {
  local at=acs current="${COMP_WORDS[COMP_CWORD]}" flag='' word i REPLY
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    case "$word" in
      --) return ;;
      -*)
        if _acs_values "$at" "$word"; then
          flag="$word"
          ((i++))
          # bash splits --flag=value at the sign
          [ "${COMP_WORDS[i]}" = '=' ] && [ "$i" -lt "$COMP_CWORD" ] && ((i++))
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
