# bash completion for acs. Generated: acs completion bash
# To use it: source <(acs completion bash)

# The command that a word leads to from another: an alias gives the name.
_acs_child() {
  case "$1 $2" in
    'acs conv' | 'acs conversation') REPLY='acs conv' ;;
    'acs sandbox' | 'acs sb') REPLY='acs sandbox' ;;
    'acs specs' | 'acs spec') REPLY='acs specs' ;;
    'acs batch') REPLY='acs batch' ;;
    'acs settings' | 'acs setting') REPLY='acs settings' ;;
    'acs secret' | 'acs secrets') REPLY='acs secret' ;;
    'acs git-provider' | 'acs git-providers') REPLY='acs git-provider' ;;
    'acs repo' | 'acs repository') REPLY='acs repo' ;;
    'acs api') REPLY='acs api' ;;
    'acs login') REPLY='acs login' ;;
    'acs logout') REPLY='acs logout' ;;
    'acs profile') REPLY='acs profile' ;;
    'acs whoami') REPLY='acs whoami' ;;
    'acs doctor') REPLY='acs doctor' ;;
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
    'acs conv chat') REPLY='acs conv chat' ;;
    'acs conv confirm') REPLY='acs conv confirm' ;;
    'acs conv stop') REPLY='acs conv stop' ;;
    'acs conv resume') REPLY='acs conv resume' ;;
    'acs conv diff') REPLY='acs conv diff' ;;
    'acs conv export') REPLY='acs conv export' ;;
    'acs conv open') REPLY='acs conv open' ;;
    'acs conv pull') REPLY='acs conv pull' ;;
    'acs conv rename') REPLY='acs conv rename' ;;
    'acs conv delete' | 'acs conv rm' | 'acs conv remove') REPLY='acs conv delete' ;;
    'acs sandbox list' | 'acs sandbox ls') REPLY='acs sandbox list' ;;
    'acs sandbox show' | 'acs sandbox view' | 'acs sandbox get') REPLY='acs sandbox show' ;;
    'acs sandbox start') REPLY='acs sandbox start' ;;
    'acs sandbox pause') REPLY='acs sandbox pause' ;;
    'acs sandbox resume') REPLY='acs sandbox resume' ;;
    'acs sandbox wait') REPLY='acs sandbox wait' ;;
    'acs sandbox delete' | 'acs sandbox rm' | 'acs sandbox remove') REPLY='acs sandbox delete' ;;
    'acs sandbox exec') REPLY='acs sandbox exec' ;;
    'acs sandbox cp') REPLY='acs sandbox cp' ;;
    'acs sandbox shell') REPLY='acs sandbox shell' ;;
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
    'acs git-provider list' | 'acs git-provider ls') REPLY='acs git-provider list' ;;
    'acs git-provider set') REPLY='acs git-provider set' ;;
    'acs git-provider delete' | 'acs git-provider rm' | 'acs git-provider remove') REPLY='acs git-provider delete' ;;
    'acs repo list' | 'acs repo ls') REPLY='acs repo list' ;;
    'acs repo branches') REPLY='acs repo branches' ;;
    'acs repo tasks') REPLY='acs repo tasks' ;;
    'acs profile add' | 'acs profile create') REPLY='acs profile add' ;;
    'acs profile list' | 'acs profile ls') REPLY='acs profile list' ;;
    'acs profile show' | 'acs profile view' | 'acs profile get') REPLY='acs profile show' ;;
    'acs profile use') REPLY='acs profile use' ;;
    'acs profile rename') REPLY='acs profile rename' ;;
    'acs profile delete' | 'acs profile rm' | 'acs profile remove') REPLY='acs profile delete' ;;
    'acs help conv' | 'acs help conversation') REPLY='acs help conv' ;;
    'acs help sandbox' | 'acs help sb') REPLY='acs help sandbox' ;;
    'acs help specs' | 'acs help spec') REPLY='acs help specs' ;;
    'acs help batch') REPLY='acs help batch' ;;
    'acs help settings' | 'acs help setting') REPLY='acs help settings' ;;
    'acs help secret' | 'acs help secrets') REPLY='acs help secret' ;;
    'acs help git-provider' | 'acs help git-providers') REPLY='acs help git-provider' ;;
    'acs help repo' | 'acs help repository') REPLY='acs help repo' ;;
    'acs help api') REPLY='acs help api' ;;
    'acs help login') REPLY='acs help login' ;;
    'acs help logout') REPLY='acs help logout' ;;
    'acs help profile') REPLY='acs help profile' ;;
    'acs help whoami') REPLY='acs help whoami' ;;
    'acs help doctor') REPLY='acs help doctor' ;;
    'acs help serve') REPLY='acs help serve' ;;
    'acs help completion') REPLY='acs help completion' ;;
    'acs help exit-codes') REPLY='acs help exit-codes' ;;
    'acs help environment') REPLY='acs help environment' ;;
    'acs help output') REPLY='acs help output' ;;
    'acs help conv new' | 'acs help conv create') REPLY='acs help conv new' ;;
    'acs help conv list' | 'acs help conv ls') REPLY='acs help conv list' ;;
    'acs help conv show' | 'acs help conv view' | 'acs help conv get') REPLY='acs help conv show' ;;
    'acs help conv follow') REPLY='acs help conv follow' ;;
    'acs help conv events' | 'acs help conv logs') REPLY='acs help conv events' ;;
    'acs help conv wait') REPLY='acs help conv wait' ;;
    'acs help conv result') REPLY='acs help conv result' ;;
    'acs help conv send') REPLY='acs help conv send' ;;
    'acs help conv chat') REPLY='acs help conv chat' ;;
    'acs help conv confirm') REPLY='acs help conv confirm' ;;
    'acs help conv stop') REPLY='acs help conv stop' ;;
    'acs help conv resume') REPLY='acs help conv resume' ;;
    'acs help conv diff') REPLY='acs help conv diff' ;;
    'acs help conv export') REPLY='acs help conv export' ;;
    'acs help conv open') REPLY='acs help conv open' ;;
    'acs help conv pull') REPLY='acs help conv pull' ;;
    'acs help conv rename') REPLY='acs help conv rename' ;;
    'acs help conv delete' | 'acs help conv rm' | 'acs help conv remove') REPLY='acs help conv delete' ;;
    'acs help sandbox list' | 'acs help sandbox ls') REPLY='acs help sandbox list' ;;
    'acs help sandbox show' | 'acs help sandbox view' | 'acs help sandbox get') REPLY='acs help sandbox show' ;;
    'acs help sandbox start') REPLY='acs help sandbox start' ;;
    'acs help sandbox pause') REPLY='acs help sandbox pause' ;;
    'acs help sandbox resume') REPLY='acs help sandbox resume' ;;
    'acs help sandbox wait') REPLY='acs help sandbox wait' ;;
    'acs help sandbox delete' | 'acs help sandbox rm' | 'acs help sandbox remove') REPLY='acs help sandbox delete' ;;
    'acs help sandbox exec') REPLY='acs help sandbox exec' ;;
    'acs help sandbox cp') REPLY='acs help sandbox cp' ;;
    'acs help sandbox shell') REPLY='acs help sandbox shell' ;;
    'acs help specs list' | 'acs help specs ls') REPLY='acs help specs list' ;;
    'acs help specs show' | 'acs help specs view' | 'acs help specs get') REPLY='acs help specs show' ;;
    'acs help settings get' | 'acs help settings show' | 'acs help settings view' | 'acs help settings list' | 'acs help settings ls') REPLY='acs help settings get' ;;
    'acs help settings set') REPLY='acs help settings set' ;;
    'acs help settings unset' | 'acs help settings rm' | 'acs help settings remove' | 'acs help settings delete') REPLY='acs help settings unset' ;;
    'acs help settings edit') REPLY='acs help settings edit' ;;
    'acs help settings schema') REPLY='acs help settings schema' ;;
    'acs help settings profile' | 'acs help settings profiles') REPLY='acs help settings profile' ;;
    'acs help settings profile list' | 'acs help settings profile ls') REPLY='acs help settings profile list' ;;
    'acs help settings profile show' | 'acs help settings profile view' | 'acs help settings profile get') REPLY='acs help settings profile show' ;;
    'acs help settings profile save') REPLY='acs help settings profile save' ;;
    'acs help settings profile use') REPLY='acs help settings profile use' ;;
    'acs help settings profile rename') REPLY='acs help settings profile rename' ;;
    'acs help settings profile delete' | 'acs help settings profile rm' | 'acs help settings profile remove') REPLY='acs help settings profile delete' ;;
    'acs help secret list' | 'acs help secret ls') REPLY='acs help secret list' ;;
    'acs help secret set') REPLY='acs help secret set' ;;
    'acs help secret delete' | 'acs help secret rm' | 'acs help secret remove') REPLY='acs help secret delete' ;;
    'acs help git-provider list' | 'acs help git-provider ls') REPLY='acs help git-provider list' ;;
    'acs help git-provider set') REPLY='acs help git-provider set' ;;
    'acs help git-provider delete' | 'acs help git-provider rm' | 'acs help git-provider remove') REPLY='acs help git-provider delete' ;;
    'acs help repo list' | 'acs help repo ls') REPLY='acs help repo list' ;;
    'acs help repo branches') REPLY='acs help repo branches' ;;
    'acs help repo tasks') REPLY='acs help repo tasks' ;;
    'acs help profile add' | 'acs help profile create') REPLY='acs help profile add' ;;
    'acs help profile list' | 'acs help profile ls') REPLY='acs help profile list' ;;
    'acs help profile show' | 'acs help profile view' | 'acs help profile get') REPLY='acs help profile show' ;;
    'acs help profile use') REPLY='acs help profile use' ;;
    'acs help profile rename') REPLY='acs help profile rename' ;;
    'acs help profile delete' | 'acs help profile rm' | 'acs help profile remove') REPLY='acs help profile delete' ;;
    *) return 1 ;;
  esac
}

_acs_flags() {
  case "$1" in
    'acs') REPLY='-p --profile --base-url --api-key-file --request-timeout --rate --json --format -q --quiet --fields --jq -o --output --no-color --debug --no-input -y --yes --dry-run -V --version -h --help' ;;
    'acs conv') REPLY='-h --help' ;;
    'acs conv new') REPLY='-F --file -r --repo --no-repo -b --branch --git-provider --title --image --instructions --suggested-task --microagent --replay --model --spec --sandbox --mcp-config --secret --members --confirm --id --api --on-confirm --wait --no-wait -f --follow --count --start-timeout --wait-timeout --stop-on-timeout --stop-on-interrupt --id-file -h --help' ;;
    'acs conv list') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo -L --limit --all-pages -h --help' ;;
    'acs conv show') REPLY='--exit-status -h --help' ;;
    'acs conv follow') REPLY='--kind --source --since --tail --fail-on-stall --wait-timeout --on-confirm -h --help' ;;
    'acs conv events') REPLY='-f --follow -L --limit --kind --source --since --tail --fail-on-stall --wait-timeout --on-confirm -h --help' ;;
    'acs conv wait') REPLY='--any --for --fail-on-stall --on-confirm --wait-timeout -h --help' ;;
    'acs conv result') REPLY='-h --help' ;;
    'acs conv send') REPLY='-F --file --image --resume --accept --reject --wait -f --follow --wait-timeout --on-confirm -h --help' ;;
    'acs conv chat') REPLY='--kind --source --since --tail -m --message -F --file -r --repo --no-repo -b --branch --git-provider --title --image --instructions --suggested-task --microagent --replay --model --spec --sandbox --mcp-config --secret --members --confirm --id --api -h --help' ;;
    'acs conv confirm') REPLY='--accept --reject --reason --action --resume -h --help' ;;
    'acs conv stop') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all -h --help' ;;
    'acs conv resume') REPLY='--status --not-status --older-than --not-older-than --idle --not-idle --spec --not-spec --repo --not-repo --all --wait -f --follow --wait-timeout --on-confirm -h --help' ;;
    'acs conv diff') REPLY='--stat --resume -h --help' ;;
    'acs conv export') REPLY='--as -h --help' ;;
    'acs conv open') REPLY='-n --no-browser -h --help' ;;
    'acs conv pull') REPLY='--3way --branch --resume -h --help' ;;
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
    'acs sandbox exec') REPLY='--cwd --env --timeout -i --stdin --resume -h --help' ;;
    'acs sandbox cp') REPLY='--resume -h --help' ;;
    'acs sandbox shell') REPLY='--resume -h --help' ;;
    'acs specs') REPLY='-h --help' ;;
    'acs specs list') REPLY='-L --limit --all-pages -h --help' ;;
    'acs specs show') REPLY='-h --help' ;;
    'acs batch') REPLY='--concurrency --retry --diff-dir -h --help' ;;
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
    'acs git-provider') REPLY='-h --help' ;;
    'acs git-provider list') REPLY='-h --help' ;;
    'acs git-provider set') REPLY='--host --token-file --allow-loss -h --help' ;;
    'acs git-provider delete') REPLY='--ignore-not-found --allow-loss -h --help' ;;
    'acs repo') REPLY='-h --help' ;;
    'acs repo list') REPLY='--search --git-provider -L --limit --all-pages -h --help' ;;
    'acs repo branches') REPLY='--search --git-provider -L --limit --all-pages -h --help' ;;
    'acs repo tasks') REPLY='-r --repo --git-provider -L --limit --all-pages -h --help' ;;
    'acs api') REPLY='-f --raw-field -F --field --input -H --header -i --include --paginate -h --help' ;;
    'acs login') REPLY='--device -n --no-browser --replace -h --help' ;;
    'acs logout') REPLY='-h --help' ;;
    'acs profile') REPLY='-h --help' ;;
    'acs profile add') REPLY='--key-command --no-check --replace -h --help' ;;
    'acs profile list') REPLY='-h --help' ;;
    'acs profile show') REPLY='-h --help' ;;
    'acs profile use') REPLY='-h --help' ;;
    'acs profile rename') REPLY='-h --help' ;;
    'acs profile delete') REPLY='--ignore-not-found -h --help' ;;
    'acs whoami') REPLY='-h --help' ;;
    'acs doctor') REPLY='-h --help' ;;
    'acs serve') REPLY='--detach --status --stop --logs --prune --host --port --data-dir --api --spec --idle-timeout --scenario --replay -h --help' ;;
    'acs completion') REPLY='-h --help' ;;
    'acs help') REPLY='-h --help' ;;
    'acs help conv') REPLY='' ;;
    'acs help conv new') REPLY='' ;;
    'acs help conv list') REPLY='' ;;
    'acs help conv show') REPLY='' ;;
    'acs help conv follow') REPLY='' ;;
    'acs help conv events') REPLY='' ;;
    'acs help conv wait') REPLY='' ;;
    'acs help conv result') REPLY='' ;;
    'acs help conv send') REPLY='' ;;
    'acs help conv chat') REPLY='' ;;
    'acs help conv confirm') REPLY='' ;;
    'acs help conv stop') REPLY='' ;;
    'acs help conv resume') REPLY='' ;;
    'acs help conv diff') REPLY='' ;;
    'acs help conv export') REPLY='' ;;
    'acs help conv open') REPLY='' ;;
    'acs help conv pull') REPLY='' ;;
    'acs help conv rename') REPLY='' ;;
    'acs help conv delete') REPLY='' ;;
    'acs help sandbox') REPLY='' ;;
    'acs help sandbox list') REPLY='' ;;
    'acs help sandbox show') REPLY='' ;;
    'acs help sandbox start') REPLY='' ;;
    'acs help sandbox pause') REPLY='' ;;
    'acs help sandbox resume') REPLY='' ;;
    'acs help sandbox wait') REPLY='' ;;
    'acs help sandbox delete') REPLY='' ;;
    'acs help sandbox exec') REPLY='' ;;
    'acs help sandbox cp') REPLY='' ;;
    'acs help sandbox shell') REPLY='' ;;
    'acs help specs') REPLY='' ;;
    'acs help specs list') REPLY='' ;;
    'acs help specs show') REPLY='' ;;
    'acs help batch') REPLY='' ;;
    'acs help settings') REPLY='' ;;
    'acs help settings get') REPLY='' ;;
    'acs help settings set') REPLY='' ;;
    'acs help settings unset') REPLY='' ;;
    'acs help settings edit') REPLY='' ;;
    'acs help settings schema') REPLY='' ;;
    'acs help settings profile') REPLY='' ;;
    'acs help settings profile list') REPLY='' ;;
    'acs help settings profile show') REPLY='' ;;
    'acs help settings profile save') REPLY='' ;;
    'acs help settings profile use') REPLY='' ;;
    'acs help settings profile rename') REPLY='' ;;
    'acs help settings profile delete') REPLY='' ;;
    'acs help secret') REPLY='' ;;
    'acs help secret list') REPLY='' ;;
    'acs help secret set') REPLY='' ;;
    'acs help secret delete') REPLY='' ;;
    'acs help git-provider') REPLY='' ;;
    'acs help git-provider list') REPLY='' ;;
    'acs help git-provider set') REPLY='' ;;
    'acs help git-provider delete') REPLY='' ;;
    'acs help repo') REPLY='' ;;
    'acs help repo list') REPLY='' ;;
    'acs help repo branches') REPLY='' ;;
    'acs help repo tasks') REPLY='' ;;
    'acs help api') REPLY='' ;;
    'acs help login') REPLY='' ;;
    'acs help logout') REPLY='' ;;
    'acs help profile') REPLY='' ;;
    'acs help profile add') REPLY='' ;;
    'acs help profile list') REPLY='' ;;
    'acs help profile show') REPLY='' ;;
    'acs help profile use') REPLY='' ;;
    'acs help profile rename') REPLY='' ;;
    'acs help profile delete') REPLY='' ;;
    'acs help whoami') REPLY='' ;;
    'acs help doctor') REPLY='' ;;
    'acs help serve') REPLY='' ;;
    'acs help completion') REPLY='' ;;
    'acs help exit-codes') REPLY='' ;;
    'acs help environment') REPLY='' ;;
    'acs help output') REPLY='' ;;
  esac
  [ "$1" = acs ] || REPLY="$REPLY -p --profile --base-url --api-key-file --request-timeout --rate --json --format -q --quiet --fields --jq -o --output --no-color --debug --no-input -y --yes --dry-run -V --version -h --help"
}

_acs_commands() {
  case "$1" in
    'acs') REPLY='conv sandbox specs batch settings secret git-provider repo api login logout profile whoami doctor serve completion help' ;;
    'acs conv') REPLY='new list show follow events wait result send chat confirm stop resume diff export open pull rename delete' ;;
    'acs sandbox') REPLY='list show start pause resume wait delete exec cp shell' ;;
    'acs specs') REPLY='list show' ;;
    'acs settings') REPLY='get set unset edit schema profile' ;;
    'acs settings profile') REPLY='list show save use rename delete' ;;
    'acs secret') REPLY='list set delete' ;;
    'acs git-provider') REPLY='list set delete' ;;
    'acs repo') REPLY='list branches tasks' ;;
    'acs profile') REPLY='add list show use rename delete' ;;
    'acs help') REPLY='conv sandbox specs batch settings secret git-provider repo api login logout profile whoami doctor serve completion exit-codes environment output' ;;
    'acs help conv') REPLY='new list show follow events wait result send chat confirm stop resume diff export open pull rename delete' ;;
    'acs help sandbox') REPLY='list show start pause resume wait delete exec cp shell' ;;
    'acs help specs') REPLY='list show' ;;
    'acs help settings') REPLY='get set unset edit schema profile' ;;
    'acs help settings profile') REPLY='list show save use rename delete' ;;
    'acs help secret') REPLY='list set delete' ;;
    'acs help git-provider') REPLY='list set delete' ;;
    'acs help repo') REPLY='list branches tasks' ;;
    'acs help profile') REPLY='add list show use rename delete' ;;
    *) return 1 ;;
  esac
}

# What a flag, the first argument or a further one takes: words in REPLY, the kind of names that acs knows, or files.
# Fails for a flag without a value.
_acs_values() {
  REPLY='' names='' files=''
  case "$1 $2" in
    *' -p' | *' --profile') names=profiles ;;
    *' --base-url') : ;;
    *' --api-key-file') files=1 ;;
    *' --request-timeout') : ;;
    *' --rate') : ;;
    *' --format') REPLY='table tsv json ndjson id' ;;
    *' --fields') : ;;
    *' --jq') : ;;
    *' -o' | *' --output') files=1 ;;
    'acs conv new -F' | 'acs conv new --file') files=1 ;;
    'acs conv new -r' | 'acs conv new --repo') : ;;
    'acs conv new -b' | 'acs conv new --branch') : ;;
    'acs conv new --git-provider') REPLY='github gitlab bitbucket bitbucket_data_center forgejo azure_devops enterprise_sso' ;;
    'acs conv new --title') : ;;
    'acs conv new --image') files=1 ;;
    'acs conv new --instructions') files=1 ;;
    'acs conv new --suggested-task') files=1 ;;
    'acs conv new --microagent') files=1 ;;
    'acs conv new --replay') files=1 REPLY='demo' ;;
    'acs conv new --model') : ;;
    'acs conv new --spec') names=specs ;;
    'acs conv new --sandbox') names=sandboxes ;;
    'acs conv new --mcp-config') files=1 ;;
    'acs conv new --secret') : ;;
    'acs conv new --members') files=1 ;;
    'acs conv new --confirm') REPLY='never risky always' ;;
    'acs conv new --id') : ;;
    'acs conv new --api') REPLY='auto v0 v1' ;;
    'acs conv new --on-confirm') REPLY='ask accept reject exit' ;;
    'acs conv new --count') : ;;
    'acs conv new --start-timeout') : ;;
    'acs conv new --wait-timeout') : ;;
    'acs conv new --id-file') files=1 ;;
    'acs conv list --status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv list --not-status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv list --older-than') : ;;
    'acs conv list --not-older-than') : ;;
    'acs conv list --idle') : ;;
    'acs conv list --not-idle') : ;;
    'acs conv list --spec') names=specs ;;
    'acs conv list --not-spec') names=specs ;;
    'acs conv list --repo') : ;;
    'acs conv list --not-repo') : ;;
    'acs conv list -L' | 'acs conv list --limit') : ;;
    'acs conv follow --kind') : ;;
    'acs conv follow --source') REPLY='agent user environment hook' ;;
    'acs conv follow --since') : ;;
    'acs conv follow --tail') : ;;
    'acs conv follow --fail-on-stall') : ;;
    'acs conv follow --wait-timeout') : ;;
    'acs conv follow --on-confirm') REPLY='ask accept reject exit' ;;
    'acs conv events -L' | 'acs conv events --limit') : ;;
    'acs conv events --kind') : ;;
    'acs conv events --source') REPLY='agent user environment hook' ;;
    'acs conv events --since') : ;;
    'acs conv events --tail') : ;;
    'acs conv events --fail-on-stall') : ;;
    'acs conv events --wait-timeout') : ;;
    'acs conv events --on-confirm') REPLY='ask accept reject exit' ;;
    'acs conv wait --for') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv wait --fail-on-stall') : ;;
    'acs conv wait --on-confirm') REPLY='exit' ;;
    'acs conv wait --wait-timeout') : ;;
    'acs conv send -F' | 'acs conv send --file') files=1 ;;
    'acs conv send --image') files=1 ;;
    'acs conv send --wait-timeout') : ;;
    'acs conv send --on-confirm') REPLY='ask accept reject exit' ;;
    'acs conv chat --kind') : ;;
    'acs conv chat --source') REPLY='agent user environment hook' ;;
    'acs conv chat --since') : ;;
    'acs conv chat --tail') : ;;
    'acs conv chat -m' | 'acs conv chat --message') : ;;
    'acs conv chat -F' | 'acs conv chat --file') files=1 ;;
    'acs conv chat -r' | 'acs conv chat --repo') : ;;
    'acs conv chat -b' | 'acs conv chat --branch') : ;;
    'acs conv chat --git-provider') REPLY='github gitlab bitbucket bitbucket_data_center forgejo azure_devops enterprise_sso' ;;
    'acs conv chat --title') : ;;
    'acs conv chat --image') files=1 ;;
    'acs conv chat --instructions') files=1 ;;
    'acs conv chat --suggested-task') files=1 ;;
    'acs conv chat --microagent') files=1 ;;
    'acs conv chat --replay') files=1 REPLY='demo' ;;
    'acs conv chat --model') : ;;
    'acs conv chat --spec') names=specs ;;
    'acs conv chat --sandbox') names=sandboxes ;;
    'acs conv chat --mcp-config') files=1 ;;
    'acs conv chat --secret') : ;;
    'acs conv chat --members') files=1 ;;
    'acs conv chat --confirm') REPLY='never risky always' ;;
    'acs conv chat --id') : ;;
    'acs conv chat --api') REPLY='auto v0 v1' ;;
    'acs conv confirm --reason') : ;;
    'acs conv confirm --action') : ;;
    'acs conv stop --status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv stop --not-status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv stop --older-than') : ;;
    'acs conv stop --not-older-than') : ;;
    'acs conv stop --idle') : ;;
    'acs conv stop --not-idle') : ;;
    'acs conv stop --spec') names=specs ;;
    'acs conv stop --not-spec') names=specs ;;
    'acs conv stop --repo') : ;;
    'acs conv stop --not-repo') : ;;
    'acs conv resume --status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv resume --not-status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv resume --older-than') : ;;
    'acs conv resume --not-older-than') : ;;
    'acs conv resume --idle') : ;;
    'acs conv resume --not-idle') : ;;
    'acs conv resume --spec') names=specs ;;
    'acs conv resume --not-spec') names=specs ;;
    'acs conv resume --repo') : ;;
    'acs conv resume --not-repo') : ;;
    'acs conv resume --wait-timeout') : ;;
    'acs conv resume --on-confirm') REPLY='ask accept reject exit' ;;
    'acs conv export --as') REPLY='zip ndjson md html' ;;
    'acs conv pull --branch') : ;;
    'acs conv delete --status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv delete --not-status') REPLY='starting idle running waiting paused finished failed stuck stopped archived' ;;
    'acs conv delete --older-than') : ;;
    'acs conv delete --not-older-than') : ;;
    'acs conv delete --idle') : ;;
    'acs conv delete --not-idle') : ;;
    'acs conv delete --spec') names=specs ;;
    'acs conv delete --not-spec') names=specs ;;
    'acs conv delete --repo') : ;;
    'acs conv delete --not-repo') : ;;
    'acs sandbox list --status') REPLY='starting running paused error missing' ;;
    'acs sandbox list --not-status') REPLY='starting running paused error missing' ;;
    'acs sandbox list --older-than') : ;;
    'acs sandbox list --not-older-than') : ;;
    'acs sandbox list --idle') : ;;
    'acs sandbox list --not-idle') : ;;
    'acs sandbox list --spec') names=specs ;;
    'acs sandbox list --not-spec') names=specs ;;
    'acs sandbox list --repo') : ;;
    'acs sandbox list --not-repo') : ;;
    'acs sandbox list -L' | 'acs sandbox list --limit') : ;;
    'acs sandbox start --spec') names=specs ;;
    'acs sandbox start --wait-timeout') : ;;
    'acs sandbox pause --status') REPLY='starting running paused error missing' ;;
    'acs sandbox pause --not-status') REPLY='starting running paused error missing' ;;
    'acs sandbox pause --older-than') : ;;
    'acs sandbox pause --not-older-than') : ;;
    'acs sandbox pause --idle') : ;;
    'acs sandbox pause --not-idle') : ;;
    'acs sandbox pause --spec') names=specs ;;
    'acs sandbox pause --not-spec') names=specs ;;
    'acs sandbox pause --repo') : ;;
    'acs sandbox pause --not-repo') : ;;
    'acs sandbox pause --wait-timeout') : ;;
    'acs sandbox resume --status') REPLY='starting running paused error missing' ;;
    'acs sandbox resume --not-status') REPLY='starting running paused error missing' ;;
    'acs sandbox resume --older-than') : ;;
    'acs sandbox resume --not-older-than') : ;;
    'acs sandbox resume --idle') : ;;
    'acs sandbox resume --not-idle') : ;;
    'acs sandbox resume --spec') names=specs ;;
    'acs sandbox resume --not-spec') names=specs ;;
    'acs sandbox resume --repo') : ;;
    'acs sandbox resume --not-repo') : ;;
    'acs sandbox resume --wait-timeout') : ;;
    'acs sandbox wait --for') REPLY='starting running paused error missing' ;;
    'acs sandbox wait --wait-timeout') : ;;
    'acs sandbox delete --status') REPLY='starting running paused error missing' ;;
    'acs sandbox delete --not-status') REPLY='starting running paused error missing' ;;
    'acs sandbox delete --older-than') : ;;
    'acs sandbox delete --not-older-than') : ;;
    'acs sandbox delete --idle') : ;;
    'acs sandbox delete --not-idle') : ;;
    'acs sandbox delete --spec') names=specs ;;
    'acs sandbox delete --not-spec') names=specs ;;
    'acs sandbox delete --repo') : ;;
    'acs sandbox delete --not-repo') : ;;
    'acs sandbox delete --wait-timeout') : ;;
    'acs sandbox exec --cwd') files=1 ;;
    'acs sandbox exec --env') : ;;
    'acs sandbox exec --timeout') : ;;
    'acs specs list -L' | 'acs specs list --limit') : ;;
    'acs batch --concurrency') : ;;
    'acs batch --retry') REPLY='failed unknown' ;;
    'acs batch --diff-dir') files=1 ;;
    'acs settings set --file') files=1 ;;
    'acs secret list -L' | 'acs secret list --limit') : ;;
    'acs secret set --from-env') : ;;
    'acs secret set --description') : ;;
    'acs git-provider set --host') : ;;
    'acs git-provider set --token-file') files=1 ;;
    'acs repo list --search') : ;;
    'acs repo list --git-provider') REPLY='github gitlab bitbucket bitbucket_data_center forgejo azure_devops enterprise_sso' ;;
    'acs repo list -L' | 'acs repo list --limit') : ;;
    'acs repo branches --search') : ;;
    'acs repo branches --git-provider') REPLY='github gitlab bitbucket bitbucket_data_center forgejo azure_devops enterprise_sso' ;;
    'acs repo branches -L' | 'acs repo branches --limit') : ;;
    'acs repo tasks -r' | 'acs repo tasks --repo') : ;;
    'acs repo tasks --git-provider') REPLY='github gitlab bitbucket bitbucket_data_center forgejo azure_devops enterprise_sso' ;;
    'acs repo tasks -L' | 'acs repo tasks --limit') : ;;
    'acs api -f' | 'acs api --raw-field') : ;;
    'acs api -F' | 'acs api --field') : ;;
    'acs api --input') files=1 ;;
    'acs api -H' | 'acs api --header') : ;;
    'acs profile add --key-command') : ;;
    'acs serve --prune') : ;;
    'acs serve --host') : ;;
    'acs serve --port') : ;;
    'acs serve --data-dir') files=1 ;;
    'acs serve --api') REPLY='v0 v1 both' ;;
    'acs serve --spec') names=specs ;;
    'acs serve --idle-timeout') : ;;
    'acs serve --scenario') files=1 ;;
    'acs serve --replay') files=1 REPLY='demo' ;;
    'acs conv new argument') : ;;
    'acs conv show argument') names=conversations ;;
    'acs conv follow argument') names=conversations ;;
    'acs conv events argument') names=conversations ;;
    'acs conv wait argument' | 'acs conv wait further') names=conversations ;;
    'acs conv result argument') names=conversations ;;
    'acs conv send argument') names=conversations ;;
    'acs conv chat argument') names=conversations ;;
    'acs conv confirm argument') names=conversations ;;
    'acs conv stop argument' | 'acs conv stop further') names=conversations ;;
    'acs conv resume argument' | 'acs conv resume further') names=conversations ;;
    'acs conv diff argument') names=conversations ;;
    'acs conv export argument') names=conversations ;;
    'acs conv open argument') names=conversations ;;
    'acs conv pull argument') names=conversations ;;
    'acs conv rename argument') names=conversations ;;
    'acs conv delete argument' | 'acs conv delete further') names=conversations ;;
    'acs sandbox show argument') names=sandboxes ;;
    'acs sandbox start argument') names=sandboxes ;;
    'acs sandbox pause argument' | 'acs sandbox pause further') names=sandboxes ;;
    'acs sandbox resume argument' | 'acs sandbox resume further') names=sandboxes ;;
    'acs sandbox wait argument' | 'acs sandbox wait further') names=sandboxes ;;
    'acs sandbox delete argument' | 'acs sandbox delete further') names=sandboxes ;;
    'acs sandbox exec argument') names=sandboxes ;;
    'acs sandbox cp argument' | 'acs sandbox cp further') files=1 ;;
    'acs sandbox shell argument') names=sandboxes ;;
    'acs specs show argument') names=specs ;;
    'acs batch argument') : ;;
    'acs settings get argument' | 'acs settings get further') names=settings ;;
    'acs settings set argument' | 'acs settings set further') names=settings ;;
    'acs settings unset argument' | 'acs settings unset further') names=settings ;;
    'acs settings schema argument' | 'acs settings schema further') names=settings ;;
    'acs settings profile show argument') names=model-profiles ;;
    'acs settings profile save argument') names=model-profiles ;;
    'acs settings profile use argument') names=model-profiles ;;
    'acs settings profile rename argument') names=model-profiles ;;
    'acs settings profile delete argument') names=model-profiles ;;
    'acs secret set argument') names=secrets ;;
    'acs secret delete argument' | 'acs secret delete further') names=secrets ;;
    'acs git-provider set argument') : ;;
    'acs git-provider delete argument' | 'acs git-provider delete further') : ;;
    'acs repo branches argument') : ;;
    'acs api argument') : ;;
    'acs login argument') names=profiles ;;
    'acs logout argument') names=profiles ;;
    'acs profile add argument') : ;;
    'acs profile show argument') names=profiles ;;
    'acs profile use argument') names=profiles ;;
    'acs profile rename argument') names=profiles ;;
    'acs profile delete argument' | 'acs profile delete further') names=profiles ;;
    'acs completion argument') REPLY='bash zsh fish powershell' ;;
    *) return 1 ;;
  esac
}

_acs() {
  local at=acs current="${COMP_WORDS[COMP_CWORD]}" flag='' place=argument prefix='' names='' files='' word i REPLY
  local server=()
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
          if [ "$i" -lt "$COMP_CWORD" ]; then
            case "$flag" in -p | --profile | --base-url) server+=("$flag" "${COMP_WORDS[i]}") ;; esac
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
    local IFS=$'\n'
    COMPREPLY+=($(compgen -f -- "$current"))
    return
  fi
  # Without titles; bash breaks a word at a colon, so that such a name cannot be completed.
  [ -n "$names" ] && REPLY="$(acs __complete "$names" ${server[@]+"${server[@]}"} 2>/dev/null | cut -f 1 | grep -v :)"
  # Of several values separated by commas the last one is completed, and the others are not offered again.
  if [[ "$current" == *,* ]]; then
    prefix="${current%,*},"
    local words=$REPLY
    REPLY=''
    for word in $words; do
      [[ ",$prefix" == *",$word,"* ]] || REPLY="$REPLY $word"
    done
  fi
  COMPREPLY=($(compgen -P "$prefix" -W "$REPLY" -- "${current#"$prefix"}"))
}

complete -F _acs acs
