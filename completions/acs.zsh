#compdef acs
# zsh completion for acs. Generated: acs completion zsh
# To use it: source <(acs completion zsh), after compinit

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
    'acs') reply=('-V:print the version' '--version:print the version' '-p:use this profile (a,b,c on lists and bulk commands)' '--profile:use this profile (a,b,c on lists and bulk commands)' '--base-url:use this server' '--api-key-file:read the key from this file, or from stdin' '--json:print one JSON document (same as --format json)' '--format:how data is printed (acs help output)' '-q:print ids only (same as --format id)' '--quiet:print ids only (same as --format id)' '--fields:choose and order the fields of table, tsv and json' '-o:write the data to this file' '--output:write the data to this file' '--no-input:never ask; always so off a terminal' '-y:answer acs'\''s own questions with yes' '--yes:answer acs'\''s own questions with yes' '--dry-run:print the requests a command would send, and send none that writes' '--request-timeout:one request: connect, headers, silence (default 30s)' '--rate:requests a second to this server' '--no-color:no colours' '--debug:log each request and answer to stderr, redacted' '-h:print help' '--help:print help') ;;
    'acs conv') reply=('-h:print help' '--help:print help') ;;
    'acs conv new') reply=('-F:read the message from this file' '--file:read the message from this file' '-r:owner/name, a URL, a path or . (default: the checkout you are in)' '--repo:owner/name, a URL, a path or . (default: the checkout you are in)' '--no-repo:without a repository' '-b:the branch (default: the current one for the checkout'\''s own repository)' '--branch:the branch (default: the current one for the checkout'\''s own repository)' '--git-provider:who has the repository: github, gitlab, bitbucket, bitbucket_data_center, forgejo, azure_devops, enterprise_sso' '--title:its title; set right after the start' '--image:show the agent an image (repeatable)' '--instructions:standing instructions besides the message' '--suggested-task:work on an issue or pull request, from a file or as owner/name#12' '--microagent:have a microagent written; the file is {"repo","git_provider","title"}' '--replay:carry out a recorded run instead of asking a model; demo is built in' '--model:the model of this conversation' '--spec:the sandbox spec to start in' '--sandbox:use this sandbox instead of a new one' '--mcp-config:MCP servers for this conversation' '--secret:a secret for this conversation; its value is that environment variable (repeatable)' '--members:further members of a V1 start, as a JSON object: plugins, agent_type, …' '--confirm:ask before actions: never, risky, always' '--id:the id of the new conversation; the same start again is then no second one' '--api:auto, v0 or v1' '--on-confirm:when a confirmation waits: ask, accept, reject, exit with 8 (default: ask on a terminal, else exit)' '--wait:until the run has ended' '--no-wait:return as soon as the server has taken the start' '-f:until the run has ended, and show it' '--follow:until the run has ended, and show it' '--start-timeout:give the start this long' '--wait-timeout:give all of it this long, the start included (default with --wait or --follow: 1h off a terminal)' '--stop-on-timeout:stop the run when its time is up' '--stop-on-interrupt:stop the run when acs is interrupted' '--id-file:write the id to this file as soon as it exists' '-h:print help' '--help:print help') ;;
    'acs conv list') reply=('--status:in one of these states: starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '-L:at most this many (default 30)' '--limit:at most this many (default 30)' '--all-pages:all there are' '-h:print help' '--help:print help') ;;
    'acs conv show') reply=('--exit-status:end with the exit code of its state' '-h:print help' '--help:print help') ;;
    'acs conv follow') reply=('--kind:only events of these kinds, e.g. ActionEvent or action:run' '--source:only events from agent, user or environment' '--since:only events after this one, or from this time on' '--tail:only the newest n at first; 0: none' '--fail-on-stall:end with 124 when nothing happens for this long while it runs' '--wait-timeout:stop waiting after this long (default 1h off a terminal)' '--on-confirm:when a confirmation waits: ask, accept, reject, exit with 8 (default: ask on a terminal, else exit)' '-h:print help' '--help:print help') ;;
    'acs conv events') reply=('-f:go on with what happens, until the run ends: the same as follow' '--follow:go on with what happens, until the run ends: the same as follow' '-L:at most this many (default: all)' '--limit:at most this many (default: all)' '--kind:only events of these kinds, e.g. ActionEvent or action:run' '--source:only events from agent, user or environment' '--since:only events after this one, or from this time on' '--tail:only the newest n at first; 0: none' '--fail-on-stall:end with 124 when nothing happens for this long while it runs' '--wait-timeout:stop waiting after this long (default 1h off a terminal)' '--on-confirm:when a confirmation waits: ask, accept, reject, exit with 8 (default: ask on a terminal, else exit)' '-h:print help' '--help:print help') ;;
    'acs conv wait') reply=('--any:until the first of them has ended' '--for:until one of these states; ends at once when none of them can come any more' '--fail-on-stall:end with 124 when nothing happens for this long while it runs' '--on-confirm:a waiting confirmation ends the wait with 8' '--wait-timeout:stop waiting after this long (default 1h off a terminal)' '-h:print help' '--help:print help') ;;
    'acs conv result') reply=('-h:print help' '--help:print help') ;;
    'acs conv send') reply=('-F:read the message from this file' '--file:read the message from this file' '--image:show the agent an image (repeatable)' '--resume:wake the sandbox first when it is paused' '--accept:first accept the action that waits for a confirmation' '--reject:first reject it' '--wait:until the run that the message begins has ended' '-f:the same, and show it' '--follow:the same, and show it' '--wait-timeout:stop waiting after this long (default 1h off a terminal)' '--on-confirm:when a confirmation waits: ask, accept, reject, exit with 8 (default: ask on a terminal, else exit)' '-h:print help' '--help:print help') ;;
    'acs conv confirm') reply=('--accept:let the agent do it' '--reject:do not; the agent then waits for a message' '--reason:tell the agent why it is rejected' '--action:answer this action and no other' '--resume:start the sandbox first when it is paused' '-h:print help' '--help:print help') ;;
    'acs conv stop') reply=('--status:in one of these states: starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every conversation' '-h:print help' '--help:print help') ;;
    'acs conv resume') reply=('--status:in one of these states: starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every conversation' '--wait:until the run has ended; one id' '-f:the same, and show it' '--follow:the same, and show it' '--wait-timeout:stop waiting after this long (default 1h off a terminal)' '--on-confirm:when a confirmation waits: ask, accept, reject, exit with 8 (default: ask on a terminal, else exit)' '-h:print help' '--help:print help') ;;
    'acs conv diff') reply=('--stat:list the files that changed, with lines added and removed' '--resume:wake the sandbox first when it is paused' '-h:print help' '--help:print help') ;;
    'acs conv rename') reply=('-h:print help' '--help:print help') ;;
    'acs conv delete') reply=('--status:in one of these states: starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every conversation' '--force:also where a run is in progress: of one chosen by selector, or of another one in its sandbox' '--with-sandbox:delete the sandbox too; other conversations in it cannot go on, and some servers delete them' '--ignore-not-found:one that is not there is no error' '-h:print help' '--help:print help') ;;
    'acs sandbox') reply=('-h:print help' '--help:print help') ;;
    'acs sandbox list') reply=('--status:in one of these states: starting, running, paused, error, missing' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '-L:at most this many (default 30)' '--limit:at most this many (default 30)' '--all-pages:all there are' '-h:print help' '--help:print help') ;;
    'acs sandbox show') reply=('--show-secrets:also the session key of its agent server' '-h:print help' '--help:print help') ;;
    'acs sandbox start') reply=('--spec:what to create it from (see acs specs list); one to resume must be of this spec' '--wait:return when it runs (the default)' '--no-wait:return as soon as the server has taken it' '--wait-timeout:give up waiting after this long (default 1h off a terminal)' '-h:print help' '--help:print help') ;;
    'acs sandbox pause') reply=('--status:in one of these states: starting, running, paused, error, missing' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every sandbox' '--wait:return when it is done (the default)' '--no-wait:return as soon as the server has taken it' '--wait-timeout:give up waiting after this long (default 1h off a terminal)' '--force:by selector: also those with a run in progress' '-h:print help' '--help:print help') ;;
    'acs sandbox resume') reply=('--status:in one of these states: starting, running, paused, error, missing' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every sandbox' '--wait:return when it is done (the default)' '--no-wait:return as soon as the server has taken it' '--wait-timeout:give up waiting after this long (default 1h off a terminal)' '-h:print help' '--help:print help') ;;
    'acs sandbox wait') reply=('--for:until it is one of starting, running, paused, error, missing' '--wait-timeout:give up waiting after this long (default 1h off a terminal)' '-h:print help' '--help:print help') ;;
    'acs sandbox delete') reply=('--status:in one of these states: starting, running, paused, error, missing' '--not-status:in none of these states' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and nothing updated for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:made from one of these specs' '--not-spec:made from none of these specs' '--repo:with a repository like this: '\''acme/*'\'', '\''**/docs'\''' '--not-repo:with no repository like this' '--all:every sandbox' '--wait:return when it is done (the default)' '--no-wait:return as soon as the server has taken it' '--wait-timeout:give up waiting after this long (default 1h off a terminal)' '--force:also those with a run in progress' '--ignore-not-found:one that is not there is no error' '-h:print help' '--help:print help') ;;
    'acs specs') reply=('-h:print help' '--help:print help') ;;
    'acs specs list') reply=('-L:at most this many (default 30)' '--limit:at most this many (default 30)' '--all-pages:all there are' '-h:print help' '--help:print help') ;;
    'acs specs show') reply=('-h:print help' '--help:print help') ;;
    'acs settings') reply=('-h:print help' '--help:print help') ;;
    'acs settings get') reply=('-h:print help' '--help:print help') ;;
    'acs settings set') reply=('--file:a JSON object of settings, - for stdin; the arguments come on top' '--allow-loss:write although a secret that cannot be read back would be lost' '-h:print help' '--help:print help') ;;
    'acs settings unset') reply=('--allow-loss:write although a secret that cannot be read back would be lost' '-h:print help' '--help:print help') ;;
    'acs settings edit') reply=('--allow-loss:write although a secret that cannot be read back would be lost' '-h:print help' '--help:print help') ;;
    'acs settings schema') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile list') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile show') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile save') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile use') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile rename') reply=('-h:print help' '--help:print help') ;;
    'acs settings profile delete') reply=('--ignore-not-found:a profile that is not there is no error' '-h:print help' '--help:print help') ;;
    'acs secret') reply=('-h:print help' '--help:print help') ;;
    'acs secret list') reply=('-L:at most this many (default 30)' '--limit:at most this many (default 30)' '--all-pages:all there are' '-h:print help' '--help:print help') ;;
    'acs secret set') reply=('--from-env:take the value of this environment variable' '--description:what it is for; one that exists keeps its own otherwise' '-h:print help' '--help:print help') ;;
    'acs secret delete') reply=('--ignore-not-found:a secret that is not there is no error' '-h:print help' '--help:print help') ;;
    'acs profile') reply=('-h:print help' '--help:print help') ;;
    'acs profile add') reply=('--key-command:store a command that prints the key, e.g. of a password manager' '--no-check:store without asking the server' '--replace:replace a profile of that name' '-h:print help' '--help:print help') ;;
    'acs profile list') reply=('-h:print help' '--help:print help') ;;
    'acs profile show') reply=('-h:print help' '--help:print help') ;;
    'acs profile use') reply=('-h:print help' '--help:print help') ;;
    'acs profile rename') reply=('-h:print help' '--help:print help') ;;
    'acs profile delete') reply=('--ignore-not-found:a profile that is not there is no error' '-h:print help' '--help:print help') ;;
    'acs whoami') reply=('-h:print help' '--help:print help') ;;
    'acs serve') reply=('--detach:start it in the background, unless it runs already' '--status:show whether it runs; never starts it' '--stop:end it and everything it started' '--logs:print the log of the service in the background' '--prune:delete what does not run and was not used for this long, e.g. 30d; asks first' '--host:listen there instead of on loopback' '--port:listen on this port (default: one that is free)' '--data-dir:keep its data there (default: ACS_DATA_DIR, else the data directory of the platform)' '--api:dialects it speaks (default both)' '--idle-timeout:end after this long without a run or client (default 30m, 0s = never)' '--scenario:weather: make requests go wrong as this file says, to test scripts' '--replay:carry out this recorded run in conversations that name none, while no model is set' '-h:print help' '--help:print help') ;;
    'acs completion') reply=('-h:print help' '--help:print help') ;;
    'acs help') reply=('-h:print help' '--help:print help') ;;
  esac
  [[ "$1" == acs ]] || reply+=('-V:print the version' '--version:print the version' '-p:use this profile (a,b,c on lists and bulk commands)' '--profile:use this profile (a,b,c on lists and bulk commands)' '--base-url:use this server' '--api-key-file:read the key from this file, or from stdin' '--json:print one JSON document (same as --format json)' '--format:how data is printed (acs help output)' '-q:print ids only (same as --format id)' '--quiet:print ids only (same as --format id)' '--fields:choose and order the fields of table, tsv and json' '-o:write the data to this file' '--output:write the data to this file' '--no-input:never ask; always so off a terminal' '-y:answer acs'\''s own questions with yes' '--yes:answer acs'\''s own questions with yes' '--dry-run:print the requests a command would send, and send none that writes' '--request-timeout:one request: connect, headers, silence (default 30s)' '--rate:requests a second to this server' '--no-color:no colours' '--debug:log each request and answer to stderr, redacted' '-h:print help' '--help:print help')
}

_acs_commands() {
  case "$1" in
    'acs') reply=('conv:conversations: an agent at work on a repository' 'sandbox:the sandboxes that conversations run in' 'specs:what sandboxes can be made from' 'settings:your settings at the server' 'secret:what your sandboxes get as environment variables' 'profile:name servers and keep their keys' 'whoami:show the active server, the signed-in user, and the source of URL and key' 'serve:run the local service: the whole server interface on this machine, without account or container' 'completion:print the completion script of a shell: bash, zsh, fish or powershell' 'help:help for a command, or for a topic: exit-codes, environment, output') ;;
    'acs conv') reply=('new:start a conversation' 'list:list conversations, newest first' 'show:show a conversation and how its run stands' 'follow:show a run as it happens, until it ends' 'events:print what happened in a conversation' 'wait:wait until runs have ended' 'result:print the agent'\''s final answer to the latest message' 'send:send a message to a conversation and let the agent go on' 'confirm:show the action that an agent asks leave for, and accept or reject it' 'stop:stop runs; what was done stays, and a message goes on with it' 'resume:wake conversations and go on with runs that have not ended' 'diff:print what changed in the workspace since the run started' 'rename:give a conversation another title' 'delete:delete conversations') ;;
    'acs sandbox') reply=('list:list sandboxes, newest first' 'show:show one sandbox' 'start:create a sandbox, or resume the one named' 'pause:stop every process of sandboxes; what they hold stays' 'resume:let paused sandboxes go on; runs are not continued by it' 'wait:wait until sandboxes are ready, or in a state' 'delete:delete sandboxes with all their files') ;;
    'acs specs') reply=('list:list what sandboxes can be made from' 'show:show one spec') ;;
    'acs settings') reply=('get:show all settings, or those named' 'set:change settings, and only those named' 'unset:bring settings back to nothing or their default' 'edit:change settings in $VISUAL or $EDITOR' 'schema:list what can be set, with types, bounds and choices' 'profile:model settings kept under names at the server (servers are named by acs profile)') ;;
    'acs settings profile') reply=('list:list the model profiles of the server' 'show:show a model profile' 'save:keep the current model settings, or others, under a name' 'use:make a model profile the current model settings' 'rename:give a model profile another name' 'delete:delete a model profile; asks first') ;;
    'acs secret') reply=('list:list secrets by name; values are never shown' 'set:store a secret, or another value for one that exists' 'delete:delete secrets; asks first') ;;
    'acs profile') reply=('add:try a key at a server (--base-url) and store both under a name' 'list:list the profiles, the built-in one last' 'show:show a profile (default: the one in force), its server, and where URL and key came from' 'use:make a profile the default' 'rename:give a profile another name' 'delete:forget profiles and their keys; asks first') ;;
    *) return 1 ;;
  esac
}

# What a flag or the first argument takes: words in reply, or nothing for files. Fails for a flag without a value.
_acs_values() {
  reply=()
  case "$1 $2" in
    *' -p' | *' --profile') reply=(${(f)"$(acs __complete profiles 2>/dev/null)"}) ;;
    *' --base-url') : ;;
    *' --api-key-file') : ;;
    *' --format') reply=('table' 'tsv' 'json' 'ndjson' 'id') ;;
    *' --fields') : ;;
    *' -o' | *' --output') : ;;
    *' --request-timeout') : ;;
    *' --rate') : ;;
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
    'acs serve --api') reply=('v0' 'v1' 'both') ;;
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
    'acs profile show argument') reply=(${(f)"$(acs __complete profiles 2>/dev/null)"}) ;;
    'acs profile use argument') reply=(${(f)"$(acs __complete profiles 2>/dev/null)"}) ;;
    'acs profile rename argument') reply=(${(f)"$(acs __complete profiles 2>/dev/null)"}) ;;
    'acs profile delete argument') reply=(${(f)"$(acs __complete profiles 2>/dev/null)"}) ;;
    'acs completion argument') reply=('bash' 'zsh' 'fish' 'powershell') ;;
    'acs help argument') reply=('conv' 'sandbox' 'specs' 'settings' 'secret' 'profile' 'whoami' 'serve' 'completion' 'exit-codes' 'environment' 'output') ;;
    *) return 1 ;;
  esac
  return 0 # though no names of profiles could be had
}

_acs() {
  local at=acs flag='' word REPLY
  local -a reply
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word="${words[i]}"
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
  word="${words[CURRENT]}"
  if [[ "$word" == --*=* ]]; then
    flag="${word%%=*}"
    compset -P '*='
  fi
  if [[ -n "$flag" ]]; then
    _acs_values "$at" "$flag" && ((${#reply})) && compadd -- "${reply[@]}" || _files
  elif [[ "$word" == -* ]]; then
    _acs_flags "$at" && _describe -o 'flag' reply
  elif _acs_commands "$at"; then
    _describe 'command' reply
  elif _acs_values "$at" argument && ((${#reply})); then
    compadd -- "${reply[@]}"
  else
    _files
  fi
}

if [ "${funcstack[1]}" = '_acs' ]; then
  _acs "$@"
else
  compdef _acs acs
fi
