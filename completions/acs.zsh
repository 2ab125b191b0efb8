#compdef acs
# zsh completion for acs. Generated: acs completion zsh
# To use it: source <(acs completion zsh), after compinit

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
    'acs') reply=('-p:use this profile; lists and bulk commands take several: a,b,c' '--profile:use this profile; lists and bulk commands take several: a,b,c' '--base-url:use this server' '--api-key-file:read the key from a file, or from stdin' '--request-timeout:limit of one request without data (default 30s)' '--rate:limit of requests per second to the server' '--json:print JSON (same as --format json)' '--format:output format (acs help output)' '-q:print ids only (same as --format id)' '--quiet:print ids only (same as --format id)' '--fields:choose and order the fields of table, tsv and json' '--jq:print what a jq expression selects of the JSON; implies --json' '-o:write the data to a file' '--output:write the data to a file' '--no-color:print without colours' '--debug:log requests and answers to stderr, without secrets' '--no-input:never prompt; this is the default off a terminal' '-y:answer yes to the questions of acs, not to those of an agent' '--yes:answer yes to the questions of acs, not to those of an agent' '--dry-run:print the write requests instead of sending them' '-V:print the version' '--version:print the version' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv new') reply=('-F:read the message from this file' '--file:read the message from this file' '-r:owner/name, a URL, a path or . (default: the current checkout)' '--repo:owner/name, a URL, a path or . (default: the current checkout)' '--no-repo:start without a repository' '-b:the branch (default: the current branch of the checkout)' '--branch:the branch (default: the current branch of the checkout)' '--git-provider:the host of the repository: github, gitlab, bitbucket, bitbucket_data_center, forgejo, azure_devops, enterprise_sso' '--title:title of the conversation' '--image:attach an image to the message (repeatable)' '--instructions:instructions that apply to all messages' '--suggested-task:work on a suggested task (acs repo tasks), as owner/name#12 or from a file' '--microagent:create a microagent; the file holds {"repo","git_provider","title"}' '--replay:replay a recorded run, without a model; `demo` is built in' '--model:model of the conversation' '--spec:create the sandbox from this spec' '--sandbox:use an existing sandbox' '--mcp-config:MCP servers of the conversation' '--secret:pass the environment variable <NAME> as a secret (repeatable)' '--members:JSON object of further members of a V1 start' '--confirm:actions that need approval: never, risky, always' '--id:id of the new conversation; repeating the start returns the same conversation' '--api:dialect: auto, v0 or v1' '--on-confirm:when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)' '--wait:return when the run has ended' '--no-wait:return as soon as the server has accepted the start' '-f:print the events, and return when the run has ended' '--follow:print the events, and return when the run has ended' '--count:start the task n times, wait for the runs, and compare them' '--start-timeout:time limit of the start' '--wait-timeout:time limit of start and run (default with --wait or --follow: 1h off a terminal)' '--stop-on-timeout:stop the run when its time is up' '--stop-on-interrupt:stop the run when acs is interrupted' '--id-file:write the id to this file as soon as it exists' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv list') reply=('--status:status is one of starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv show') reply=('--exit-status:exit with the code of its status' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv follow') reply=('--kind:only events of these kinds, such as ActionEvent or action:run' '--source:only events from agent, user, environment or hook' '--since:only events after this event or time' '--tail:begin with the newest n events; 0 for none' '--fail-on-stall:exit 124 when a running run has no event for this long' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--on-confirm:when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv events') reply=('-f:continue until the run ends, as `conv follow` does' '--follow:continue until the run ends, as `conv follow` does' '-L:print at most this many events (default: all)' '--limit:print at most this many events (default: all)' '--kind:only events of these kinds, such as ActionEvent or action:run' '--source:only events from agent, user, environment or hook' '--since:only events after this event or time' '--tail:begin with the newest n events; 0 for none' '--fail-on-stall:exit 124 when a running run has no event for this long' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--on-confirm:when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv wait') reply=('--any:return when the first run has ended' '--for:wait for one of these statuses; return at once when none is possible any more' '--fail-on-stall:exit 124 when a running run has no event for this long' '--on-confirm:exit 8 when a confirmation is pending (always so)' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv result') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv send') reply=('-F:read the message from this file' '--file:read the message from this file' '--image:attach an image to the message (repeatable)' '--resume:start a paused sandbox first' '--accept:accept the pending action first' '--reject:reject the pending action first' '--wait:return when the run has ended' '-f:print the events, and return when the run has ended' '--follow:print the events, and return when the run has ended' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--on-confirm:when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv chat') reply=('--kind:only events of these kinds, such as ActionEvent or action:run' '--source:only events from agent, user, environment or hook' '--since:only events after this event or time' '--tail:begin with the newest n events; 0 for none' '-m:the task of a new conversation' '--message:the task of a new conversation' '-F:read the message from this file' '--file:read the message from this file' '-r:owner/name, a URL, a path or . (default: the current checkout)' '--repo:owner/name, a URL, a path or . (default: the current checkout)' '--no-repo:start without a repository' '-b:the branch (default: the current branch of the checkout)' '--branch:the branch (default: the current branch of the checkout)' '--git-provider:the host of the repository: github, gitlab, bitbucket, bitbucket_data_center, forgejo, azure_devops, enterprise_sso' '--title:title of the conversation' '--image:attach an image to the message (repeatable)' '--instructions:instructions that apply to all messages' '--suggested-task:work on a suggested task (acs repo tasks), as owner/name#12 or from a file' '--microagent:create a microagent; the file holds {"repo","git_provider","title"}' '--replay:replay a recorded run, without a model; `demo` is built in' '--model:model of the conversation' '--spec:create the sandbox from this spec' '--sandbox:use an existing sandbox' '--mcp-config:MCP servers of the conversation' '--secret:pass the environment variable <NAME> as a secret (repeatable)' '--members:JSON object of further members of a V1 start' '--confirm:actions that need approval: never, risky, always' '--id:id of the new conversation; repeating the start returns the same conversation' '--api:dialect: auto, v0 or v1' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv confirm') reply=('--accept:accept the pending action' '--reject:reject it; the agent then waits for a message' '--reason:the reason, which is sent to the agent' '--action:answer only this action' '--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv stop') reply=('--status:status is one of starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every conversation' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv resume') reply=('--status:status is one of starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every conversation' '--wait:return when the run has ended; for one id' '-f:print the events, and return when the run has ended; for one id' '--follow:print the events, and return when the run has ended; for one id' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--on-confirm:when a confirmation is pending: ask, accept, reject, or exit with 8 (default: ask on a terminal, else exit)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv diff') reply=('--stat:list the changed files with their added and removed lines' '--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv export') reply=('--as:the form of the export' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv open') reply=('-n:print the address, and open nothing' '--no-browser:print the address, and open nothing' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv pull') reply=('--3way:merge with later changes of the checkout; conflicts are marked in the files' '--branch:commit the changes on a new branch, with the agent'\''s answer as the message' '--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv rename') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs conv delete') reply=('--status:status is one of starting, idle, running, waiting, paused, finished, failed, stuck, stopped, archived' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every conversation' '--force:also delete while a run is in progress, in a selected conversation or in its sandbox' '--with-sandbox:also delete the sandbox; other conversations in it cannot continue, and some servers delete them' '--ignore-not-found:succeed when a conversation does not exist' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox list') reply=('--status:status is one of starting, running, paused, error, missing' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox show') reply=('--show-secrets:also print the session key of its agent server' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox start') reply=('--spec:create it from this spec (acs specs list); an existing sandbox must have it' '--wait:return when it is running (default)' '--no-wait:return as soon as the server has accepted the request' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox pause') reply=('--status:status is one of starting, running, paused, error, missing' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every sandbox' '--wait:return when the change is done (default)' '--no-wait:return as soon as the server has accepted the request' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--force:also pause selected sandboxes with a run in progress' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox resume') reply=('--status:status is one of starting, running, paused, error, missing' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every sandbox' '--wait:return when the change is done (default)' '--no-wait:return as soon as the server has accepted the request' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox wait') reply=('--for:wait for one of these statuses: starting, running, paused, error, missing' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox delete') reply=('--status:status is one of starting, running, paused, error, missing' '--not-status:status is none of these' '--older-than:created at least this long ago' '--not-older-than:created less than this long ago' '--idle:no run in progress and no update for this long' '--not-idle:a run in progress, or updated less than this long ago' '--spec:created from one of these specs' '--not-spec:created from none of these specs' '--repo:repository matches a pattern, such as '\''acme/*'\''' '--not-repo:repository matches none of these patterns' '--all:select every sandbox' '--wait:return when the change is done (default)' '--no-wait:return as soon as the server has accepted the request' '--wait-timeout:stop waiting after this time (default 1h off a terminal)' '--force:also delete sandboxes with a run in progress' '--ignore-not-found:succeed when a sandbox does not exist' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox exec') reply=('--cwd:run it there; a relative path starts in the working directory of the sandbox' '--env:set a variable; NAME alone takes the value from this environment (repeatable)' '--timeout:end the program after this time' '-i:pass stdin on to the program (local service)' '--stdin:pass stdin on to the program (local service)' '--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox cp') reply=('--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs sandbox shell') reply=('--resume:start a paused sandbox first' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs specs') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs specs list') reply=('-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs specs show') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs batch') reply=('--concurrency:how many run at once' '--retry:start these again (repeatable)' '--diff-dir:write the diff of each task to <dir>/<key>.diff; without it, "diff" of a result is null' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings get') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings set') reply=('--file:read a JSON object of settings, or - for stdin; arguments take precedence' '--allow-loss:write even when a secret that cannot be read back is lost' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings unset') reply=('--allow-loss:write even when a secret that cannot be read back is lost' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings edit') reply=('--allow-loss:write even when a secret that cannot be read back is lost' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings schema') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile list') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile show') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile save') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile use') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile rename') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs settings profile delete') reply=('--ignore-not-found:succeed when the profile does not exist' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs secret') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs secret list') reply=('-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs secret set') reply=('--from-env:take the value from an environment variable' '--description:the description; without it an existing one is kept' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs secret delete') reply=('--ignore-not-found:succeed when a secret does not exist' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs git-provider') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs git-provider list') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs git-provider set') reply=('--host:the host of a provider that you run yourself; without it an existing one is kept' '--token-file:read the token from a file or stdin; without it acs asks for the token' '--allow-loss:store it although the server may drop tokens of other providers' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs git-provider delete') reply=('--ignore-not-found:succeed when the server has no token of a provider' '--allow-loss:delete although the server may drop tokens of other providers' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs repo') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs repo list') reply=('--search:search at the git provider, also among repositories of others' '--git-provider:only of this provider (default: all that the server has a token for)' '-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs repo branches') reply=('--search:only branches whose names contain this' '--git-provider:the provider of owner/name (default: the only one that the server has a token for)' '-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs repo tasks') reply=('-r:only tasks of this repository' '--repo:only tasks of this repository' '--git-provider:only of this provider' '-L:print at most this many (default 30)' '--limit:print at most this many (default 30)' '--all-pages:print all, however many pages there are' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs api') reply=('-f:add a text member to the body or query; can be repeated' '--raw-field:add a text member to the body or query; can be repeated' '-F:the same, typed: true, false, null, a number, @file, @- for stdin' '--field:the same, typed: true, false, null, a number, @file, @- for stdin' '--input:send the content of a file, or of stdin, as the body' '-H:add a header; can be repeated' '--header:add a header; can be repeated' '-i:print the status line and the headers before the body' '--include:print the status line and the headers before the body' '--paginate:read all pages of a list, by next_page_id and page_id' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs login') reply=('--device:sign in in a browser, where the server can (the cloud)' '-n:print the address of the sign-in, and open nothing' '--no-browser:print the address of the sign-in, and open nothing' '--replace:replace an existing profile' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs logout') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile add') reply=('--key-command:store a command that prints the key, such as that of a password manager' '--no-check:store without a request to the server' '--replace:replace an existing profile' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile list') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile show') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile use') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile rename') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs profile delete') reply=('--ignore-not-found:succeed when a profile does not exist' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs whoami') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs doctor') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs serve') reply=('--detach:start the service in the background, unless it is running' '--status:show whether the service is running, without starting it' '--stop:stop the service and its sandboxes' '--logs:print the log of the background service' '--prune:delete conversations and sandboxes that are not running and were unused for this long' '--host:listen on this address (default: loopback)' '--port:listen on this port (default: a free port)' '--data-dir:directory of its data (default: ACS_DATA_DIR, or the data directory of the platform)' '--api:dialects that it serves (default both)' '--spec:default spec of sandboxes: bubblewrap, bubblewrap-offline or process (default: bubblewrap where it works)' '--idle-timeout:stop after this long without a run or client (default 30m; 0s: never)' '--scenario:inject faults into requests as a file describes, to test scripts' '--replay:replay this run in conversations that name none, while no model is set' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs completion') reply=('-h:print the help of acs or of a command' '--help:print the help of acs or of a command') ;;
    'acs help') reply=('-h:print help' '--help:print help') ;;
    'acs help conv') reply=() ;;
    'acs help conv new') reply=() ;;
    'acs help conv list') reply=() ;;
    'acs help conv show') reply=() ;;
    'acs help conv follow') reply=() ;;
    'acs help conv events') reply=() ;;
    'acs help conv wait') reply=() ;;
    'acs help conv result') reply=() ;;
    'acs help conv send') reply=() ;;
    'acs help conv chat') reply=() ;;
    'acs help conv confirm') reply=() ;;
    'acs help conv stop') reply=() ;;
    'acs help conv resume') reply=() ;;
    'acs help conv diff') reply=() ;;
    'acs help conv export') reply=() ;;
    'acs help conv open') reply=() ;;
    'acs help conv pull') reply=() ;;
    'acs help conv rename') reply=() ;;
    'acs help conv delete') reply=() ;;
    'acs help sandbox') reply=() ;;
    'acs help sandbox list') reply=() ;;
    'acs help sandbox show') reply=() ;;
    'acs help sandbox start') reply=() ;;
    'acs help sandbox pause') reply=() ;;
    'acs help sandbox resume') reply=() ;;
    'acs help sandbox wait') reply=() ;;
    'acs help sandbox delete') reply=() ;;
    'acs help sandbox exec') reply=() ;;
    'acs help sandbox cp') reply=() ;;
    'acs help sandbox shell') reply=() ;;
    'acs help specs') reply=() ;;
    'acs help specs list') reply=() ;;
    'acs help specs show') reply=() ;;
    'acs help batch') reply=() ;;
    'acs help settings') reply=() ;;
    'acs help settings get') reply=() ;;
    'acs help settings set') reply=() ;;
    'acs help settings unset') reply=() ;;
    'acs help settings edit') reply=() ;;
    'acs help settings schema') reply=() ;;
    'acs help settings profile') reply=() ;;
    'acs help settings profile list') reply=() ;;
    'acs help settings profile show') reply=() ;;
    'acs help settings profile save') reply=() ;;
    'acs help settings profile use') reply=() ;;
    'acs help settings profile rename') reply=() ;;
    'acs help settings profile delete') reply=() ;;
    'acs help secret') reply=() ;;
    'acs help secret list') reply=() ;;
    'acs help secret set') reply=() ;;
    'acs help secret delete') reply=() ;;
    'acs help git-provider') reply=() ;;
    'acs help git-provider list') reply=() ;;
    'acs help git-provider set') reply=() ;;
    'acs help git-provider delete') reply=() ;;
    'acs help repo') reply=() ;;
    'acs help repo list') reply=() ;;
    'acs help repo branches') reply=() ;;
    'acs help repo tasks') reply=() ;;
    'acs help api') reply=() ;;
    'acs help login') reply=() ;;
    'acs help logout') reply=() ;;
    'acs help profile') reply=() ;;
    'acs help profile add') reply=() ;;
    'acs help profile list') reply=() ;;
    'acs help profile show') reply=() ;;
    'acs help profile use') reply=() ;;
    'acs help profile rename') reply=() ;;
    'acs help profile delete') reply=() ;;
    'acs help whoami') reply=() ;;
    'acs help doctor') reply=() ;;
    'acs help serve') reply=() ;;
    'acs help completion') reply=() ;;
    'acs help exit-codes') reply=() ;;
    'acs help environment') reply=() ;;
    'acs help output') reply=() ;;
  esac
  [[ "$1" == acs ]] || reply+=('-p:use this profile; lists and bulk commands take several: a,b,c' '--profile:use this profile; lists and bulk commands take several: a,b,c' '--base-url:use this server' '--api-key-file:read the key from a file, or from stdin' '--request-timeout:limit of one request without data (default 30s)' '--rate:limit of requests per second to the server' '--json:print JSON (same as --format json)' '--format:output format (acs help output)' '-q:print ids only (same as --format id)' '--quiet:print ids only (same as --format id)' '--fields:choose and order the fields of table, tsv and json' '--jq:print what a jq expression selects of the JSON; implies --json' '-o:write the data to a file' '--output:write the data to a file' '--no-color:print without colours' '--debug:log requests and answers to stderr, without secrets' '--no-input:never prompt; this is the default off a terminal' '-y:answer yes to the questions of acs, not to those of an agent' '--yes:answer yes to the questions of acs, not to those of an agent' '--dry-run:print the write requests instead of sending them' '-V:print the version' '--version:print the version' '-h:print the help of acs or of a command' '--help:print the help of acs or of a command')
}

_acs_commands() {
  case "$1" in
    'acs') reply=('conv:start, follow, answer and delete conversations' 'sandbox:start, pause and delete sandboxes, and run programs in them' 'specs:list the specs that sandboxes are created from' 'batch:start many conversations from a file, and wait for them' 'settings:read and change your settings on the server' 'secret:manage the secrets that sandboxes get as variables' 'git-provider:manage the tokens of git providers on the server' 'repo:list repositories, branches and suggested tasks' 'api:send any request to the server' 'login:sign in to a server, and store its key' 'logout:remove the stored key of a profile' 'profile:store servers and their keys under names' 'whoami:show the active server and the signed-in user' 'doctor:check the configuration, the server and this machine' 'serve:run the local service, a server on this machine' 'completion:print a shell completion script' 'help:show help for a command or a topic') ;;
    'acs conv') reply=('new:start a conversation' 'list:list conversations, newest first' 'show:show a conversation and the status of its run' 'follow:print the events of a run until it ends' 'events:print the events of a conversation' 'wait:wait until runs end' 'result:print the agent'\''s final answer to the latest message' 'send:send a message to a conversation and continue the run' 'chat:follow a conversation and send messages from a prompt' 'confirm:show the action that awaits approval, and accept or reject it' 'stop:stop runs; files are kept, and `conv send` continues the run' 'resume:start paused sandboxes and continue unfinished runs' 'diff:print the changes in the workspace since the run started' 'export:write a conversation with its events and its diff to one file' 'open:open the page of a conversation in a browser' 'pull:retrieve the changes into the checkout, a branch or a folder' 'rename:change the title of a conversation' 'delete:delete conversations') ;;
    'acs sandbox') reply=('list:list sandboxes, newest first' 'show:show a sandbox' 'start:create a sandbox, or resume an existing one' 'pause:pause sandboxes: their processes stop, their files are kept' 'resume:resume paused sandboxes, without continuing their runs' 'wait:wait until sandboxes are ready, or have a status' 'delete:delete sandboxes and their files' 'exec:run a program in a sandbox' 'cp:copy files and folders from a sandbox or to it' 'shell:open a shell in a sandbox of the local service') ;;
    'acs specs') reply=('list:list the specs of the server' 'show:show a spec') ;;
    'acs settings') reply=('get:show settings' 'set:change the named settings' 'unset:clear settings, or reset them to their defaults' 'edit:edit settings in $VISUAL or $EDITOR' 'schema:list the settings, with types, bounds and choices' 'profile:manage stored model settings of the server') ;;
    'acs settings profile') reply=('list:list the model profiles of the server' 'show:show a model profile' 'save:store the current model settings, or others, as a model profile' 'use:use the settings of a model profile' 'rename:rename a model profile' 'delete:delete a model profile') ;;
    'acs secret') reply=('list:list the names of secrets; values are never shown' 'set:create a secret, or replace its value' 'delete:delete secrets') ;;
    'acs git-provider') reply=('list:list the git providers that the server has a token for' 'set:store a token of a git provider, or replace it' 'delete:delete tokens of git providers') ;;
    'acs repo') reply=('list:list your repositories, or search for some' 'branches:list the branches of a repository' 'tasks:list the tasks that the server suggests') ;;
    'acs profile') reply=('add:check a server and its key, and store both under a name' 'list:list the profiles' 'show:show a profile, its server, and the source of URL and key' 'use:set the default profile' 'rename:rename a profile' 'delete:delete profiles and their stored keys') ;;
    'acs help') reply=('conv:start, follow, answer and delete conversations' 'sandbox:start, pause and delete sandboxes, and run programs in them' 'specs:list the specs that sandboxes are created from' 'batch:start many conversations from a file, and wait for them' 'settings:read and change your settings on the server' 'secret:manage the secrets that sandboxes get as variables' 'git-provider:manage the tokens of git providers on the server' 'repo:list repositories, branches and suggested tasks' 'api:send any request to the server' 'login:sign in to a server, and store its key' 'logout:remove the stored key of a profile' 'profile:store servers and their keys under names' 'whoami:show the active server and the signed-in user' 'doctor:check the configuration, the server and this machine' 'serve:run the local service, a server on this machine' 'completion:print a shell completion script' 'exit-codes:' 'environment:' 'output:') ;;
    'acs help conv') reply=('new:start a conversation' 'list:list conversations, newest first' 'show:show a conversation and the status of its run' 'follow:print the events of a run until it ends' 'events:print the events of a conversation' 'wait:wait until runs end' 'result:print the agent'\''s final answer to the latest message' 'send:send a message to a conversation and continue the run' 'chat:follow a conversation and send messages from a prompt' 'confirm:show the action that awaits approval, and accept or reject it' 'stop:stop runs; files are kept, and `conv send` continues the run' 'resume:start paused sandboxes and continue unfinished runs' 'diff:print the changes in the workspace since the run started' 'export:write a conversation with its events and its diff to one file' 'open:open the page of a conversation in a browser' 'pull:retrieve the changes into the checkout, a branch or a folder' 'rename:change the title of a conversation' 'delete:delete conversations') ;;
    'acs help sandbox') reply=('list:list sandboxes, newest first' 'show:show a sandbox' 'start:create a sandbox, or resume an existing one' 'pause:pause sandboxes: their processes stop, their files are kept' 'resume:resume paused sandboxes, without continuing their runs' 'wait:wait until sandboxes are ready, or have a status' 'delete:delete sandboxes and their files' 'exec:run a program in a sandbox' 'cp:copy files and folders from a sandbox or to it' 'shell:open a shell in a sandbox of the local service') ;;
    'acs help specs') reply=('list:list the specs of the server' 'show:show a spec') ;;
    'acs help settings') reply=('get:show settings' 'set:change the named settings' 'unset:clear settings, or reset them to their defaults' 'edit:edit settings in $VISUAL or $EDITOR' 'schema:list the settings, with types, bounds and choices' 'profile:manage stored model settings of the server') ;;
    'acs help settings profile') reply=('list:list the model profiles of the server' 'show:show a model profile' 'save:store the current model settings, or others, as a model profile' 'use:use the settings of a model profile' 'rename:rename a model profile' 'delete:delete a model profile') ;;
    'acs help secret') reply=('list:list the names of secrets; values are never shown' 'set:create a secret, or replace its value' 'delete:delete secrets') ;;
    'acs help git-provider') reply=('list:list the git providers that the server has a token for' 'set:store a token of a git provider, or replace it' 'delete:delete tokens of git providers') ;;
    'acs help repo') reply=('list:list your repositories, or search for some' 'branches:list the branches of a repository' 'tasks:list the tasks that the server suggests') ;;
    'acs help profile') reply=('add:check a server and its key, and store both under a name' 'list:list the profiles' 'show:show a profile, its server, and the source of URL and key' 'use:set the default profile' 'rename:rename a profile' 'delete:delete profiles and their stored keys') ;;
    *) return 1 ;;
  esac
}

# What a flag, the first argument or a further one takes: words in reply, the kind of names that acs knows, or files.
# Fails for a flag without a value.
_acs_values() {
  reply=() names='' files=''
  case "$1 $2" in
    *' -p' | *' --profile') names=profiles ;;
    *' --base-url') : ;;
    *' --api-key-file') files=1 ;;
    *' --request-timeout') : ;;
    *' --rate') : ;;
    *' --format') reply=('table' 'tsv' 'json' 'ndjson' 'id') ;;
    *' --fields') : ;;
    *' --jq') : ;;
    *' -o' | *' --output') files=1 ;;
    'acs conv new -F' | 'acs conv new --file') files=1 ;;
    'acs conv new -r' | 'acs conv new --repo') : ;;
    'acs conv new -b' | 'acs conv new --branch') : ;;
    'acs conv new --git-provider') reply=('github' 'gitlab' 'bitbucket' 'bitbucket_data_center' 'forgejo' 'azure_devops' 'enterprise_sso') ;;
    'acs conv new --title') : ;;
    'acs conv new --image') files=1 ;;
    'acs conv new --instructions') files=1 ;;
    'acs conv new --suggested-task') files=1 ;;
    'acs conv new --microagent') files=1 ;;
    'acs conv new --replay') files=1 reply=('demo') ;;
    'acs conv new --model') : ;;
    'acs conv new --spec') names=specs ;;
    'acs conv new --sandbox') names=sandboxes ;;
    'acs conv new --mcp-config') files=1 ;;
    'acs conv new --secret') : ;;
    'acs conv new --members') files=1 ;;
    'acs conv new --confirm') reply=('never' 'risky' 'always') ;;
    'acs conv new --id') : ;;
    'acs conv new --api') reply=('auto' 'v0' 'v1') ;;
    'acs conv new --on-confirm') reply=('ask' 'accept' 'reject' 'exit') ;;
    'acs conv new --count') : ;;
    'acs conv new --start-timeout') : ;;
    'acs conv new --wait-timeout') : ;;
    'acs conv new --id-file') files=1 ;;
    'acs conv list --status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv list --not-status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
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
    'acs conv follow --source') reply=('agent' 'user' 'environment' 'hook') ;;
    'acs conv follow --since') : ;;
    'acs conv follow --tail') : ;;
    'acs conv follow --fail-on-stall') : ;;
    'acs conv follow --wait-timeout') : ;;
    'acs conv follow --on-confirm') reply=('ask' 'accept' 'reject' 'exit') ;;
    'acs conv events -L' | 'acs conv events --limit') : ;;
    'acs conv events --kind') : ;;
    'acs conv events --source') reply=('agent' 'user' 'environment' 'hook') ;;
    'acs conv events --since') : ;;
    'acs conv events --tail') : ;;
    'acs conv events --fail-on-stall') : ;;
    'acs conv events --wait-timeout') : ;;
    'acs conv events --on-confirm') reply=('ask' 'accept' 'reject' 'exit') ;;
    'acs conv wait --for') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv wait --fail-on-stall') : ;;
    'acs conv wait --on-confirm') reply=('exit') ;;
    'acs conv wait --wait-timeout') : ;;
    'acs conv send -F' | 'acs conv send --file') files=1 ;;
    'acs conv send --image') files=1 ;;
    'acs conv send --wait-timeout') : ;;
    'acs conv send --on-confirm') reply=('ask' 'accept' 'reject' 'exit') ;;
    'acs conv chat --kind') : ;;
    'acs conv chat --source') reply=('agent' 'user' 'environment' 'hook') ;;
    'acs conv chat --since') : ;;
    'acs conv chat --tail') : ;;
    'acs conv chat -m' | 'acs conv chat --message') : ;;
    'acs conv chat -F' | 'acs conv chat --file') files=1 ;;
    'acs conv chat -r' | 'acs conv chat --repo') : ;;
    'acs conv chat -b' | 'acs conv chat --branch') : ;;
    'acs conv chat --git-provider') reply=('github' 'gitlab' 'bitbucket' 'bitbucket_data_center' 'forgejo' 'azure_devops' 'enterprise_sso') ;;
    'acs conv chat --title') : ;;
    'acs conv chat --image') files=1 ;;
    'acs conv chat --instructions') files=1 ;;
    'acs conv chat --suggested-task') files=1 ;;
    'acs conv chat --microagent') files=1 ;;
    'acs conv chat --replay') files=1 reply=('demo') ;;
    'acs conv chat --model') : ;;
    'acs conv chat --spec') names=specs ;;
    'acs conv chat --sandbox') names=sandboxes ;;
    'acs conv chat --mcp-config') files=1 ;;
    'acs conv chat --secret') : ;;
    'acs conv chat --members') files=1 ;;
    'acs conv chat --confirm') reply=('never' 'risky' 'always') ;;
    'acs conv chat --id') : ;;
    'acs conv chat --api') reply=('auto' 'v0' 'v1') ;;
    'acs conv confirm --reason') : ;;
    'acs conv confirm --action') : ;;
    'acs conv stop --status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv stop --not-status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv stop --older-than') : ;;
    'acs conv stop --not-older-than') : ;;
    'acs conv stop --idle') : ;;
    'acs conv stop --not-idle') : ;;
    'acs conv stop --spec') names=specs ;;
    'acs conv stop --not-spec') names=specs ;;
    'acs conv stop --repo') : ;;
    'acs conv stop --not-repo') : ;;
    'acs conv resume --status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv resume --not-status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv resume --older-than') : ;;
    'acs conv resume --not-older-than') : ;;
    'acs conv resume --idle') : ;;
    'acs conv resume --not-idle') : ;;
    'acs conv resume --spec') names=specs ;;
    'acs conv resume --not-spec') names=specs ;;
    'acs conv resume --repo') : ;;
    'acs conv resume --not-repo') : ;;
    'acs conv resume --wait-timeout') : ;;
    'acs conv resume --on-confirm') reply=('ask' 'accept' 'reject' 'exit') ;;
    'acs conv export --as') reply=('zip' 'ndjson' 'md' 'html') ;;
    'acs conv pull --branch') : ;;
    'acs conv delete --status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv delete --not-status') reply=('starting' 'idle' 'running' 'waiting' 'paused' 'finished' 'failed' 'stuck' 'stopped' 'archived') ;;
    'acs conv delete --older-than') : ;;
    'acs conv delete --not-older-than') : ;;
    'acs conv delete --idle') : ;;
    'acs conv delete --not-idle') : ;;
    'acs conv delete --spec') names=specs ;;
    'acs conv delete --not-spec') names=specs ;;
    'acs conv delete --repo') : ;;
    'acs conv delete --not-repo') : ;;
    'acs sandbox list --status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox list --not-status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
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
    'acs sandbox pause --status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox pause --not-status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox pause --older-than') : ;;
    'acs sandbox pause --not-older-than') : ;;
    'acs sandbox pause --idle') : ;;
    'acs sandbox pause --not-idle') : ;;
    'acs sandbox pause --spec') names=specs ;;
    'acs sandbox pause --not-spec') names=specs ;;
    'acs sandbox pause --repo') : ;;
    'acs sandbox pause --not-repo') : ;;
    'acs sandbox pause --wait-timeout') : ;;
    'acs sandbox resume --status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox resume --not-status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox resume --older-than') : ;;
    'acs sandbox resume --not-older-than') : ;;
    'acs sandbox resume --idle') : ;;
    'acs sandbox resume --not-idle') : ;;
    'acs sandbox resume --spec') names=specs ;;
    'acs sandbox resume --not-spec') names=specs ;;
    'acs sandbox resume --repo') : ;;
    'acs sandbox resume --not-repo') : ;;
    'acs sandbox resume --wait-timeout') : ;;
    'acs sandbox wait --for') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox wait --wait-timeout') : ;;
    'acs sandbox delete --status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
    'acs sandbox delete --not-status') reply=('starting' 'running' 'paused' 'error' 'missing') ;;
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
    'acs batch --retry') reply=('failed' 'unknown') ;;
    'acs batch --diff-dir') files=1 ;;
    'acs settings set --file') files=1 ;;
    'acs secret list -L' | 'acs secret list --limit') : ;;
    'acs secret set --from-env') : ;;
    'acs secret set --description') : ;;
    'acs git-provider set --host') : ;;
    'acs git-provider set --token-file') files=1 ;;
    'acs repo list --search') : ;;
    'acs repo list --git-provider') reply=('github' 'gitlab' 'bitbucket' 'bitbucket_data_center' 'forgejo' 'azure_devops' 'enterprise_sso') ;;
    'acs repo list -L' | 'acs repo list --limit') : ;;
    'acs repo branches --search') : ;;
    'acs repo branches --git-provider') reply=('github' 'gitlab' 'bitbucket' 'bitbucket_data_center' 'forgejo' 'azure_devops' 'enterprise_sso') ;;
    'acs repo branches -L' | 'acs repo branches --limit') : ;;
    'acs repo tasks -r' | 'acs repo tasks --repo') : ;;
    'acs repo tasks --git-provider') reply=('github' 'gitlab' 'bitbucket' 'bitbucket_data_center' 'forgejo' 'azure_devops' 'enterprise_sso') ;;
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
    'acs serve --api') reply=('v0' 'v1' 'both') ;;
    'acs serve --spec') names=specs ;;
    'acs serve --idle-timeout') : ;;
    'acs serve --scenario') files=1 ;;
    'acs serve --replay') files=1 reply=('demo') ;;
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
    'acs completion argument') reply=('bash' 'zsh' 'fish' 'powershell') ;;
    *) return 1 ;;
  esac
}

# Offers what _acs_values has found; of several values separated by commas the last one is completed, and the others
# are not offered again.
_acs_offer() {
  local line
  if [[ -n "$files" ]]; then
    ((${#reply})) && compadd -- "${reply[@]}"
    _files
    return
  fi
  compset -P '*,'
  local -a before=("${(@s:,:)IPREFIX##*=}")
  if [[ -n "$names" ]]; then
    for line in "${(@f)$(acs __complete "$names" "${server[@]}" 2>/dev/null)}"; do
      [[ -n "$line" ]] || continue
      word="${line%%$'\t'*}"
      ((${before[(Ie)$word]})) && continue
      line="${line#"$word"}"
      reply+=("${word//:/\\:}${line:+:${line#$'\t'}}")
    done
    ((${#reply})) && _describe 'value' reply
  else
    reply=("${(@)reply:|before}")
    ((${#reply})) && compadd -- "${reply[@]}"
  fi
}

_acs() {
  local at=acs flag='' place=argument names='' files='' word REPLY
  local -a reply server
  local -i i
  for ((i = 2; i < CURRENT; i++)); do
    word="${words[i]}"
    case "$word" in
      --) return 1 ;;
      --*=*) ;;
      -*)
        if _acs_values "$at" "$word"; then
          flag="$word"
          ((i++))
          if ((i < CURRENT)); then
            case "$flag" in -p | --profile | --base-url) server+=("$flag" "${(Q)words[i]}") ;; esac
            flag=''
          fi
        fi
        ;;
      *) if _acs_child "$at" "$word"; then at="$REPLY"; else place=further; fi ;;
    esac
  done
  word="${words[CURRENT]}"
  if [[ "$word" == --*=* ]]; then
    flag="${word%%=*}"
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

if [ "${funcstack[1]}" = '_acs' ]; then
  _acs "$@"
else
  compdef _acs acs
fi
