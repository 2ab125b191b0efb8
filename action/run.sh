#!/usr/bin/env bash
# Runs one task with acs, for action.yml: prints the events, writes the step summary, the outputs
# and the files of the artifact, and exits with the code of acs. Inputs are the variables INPUT_*.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [ -n "${INPUT_ACS:-}" ]; then
  read -r -a acs <<<"$INPUT_ACS"
else
  acs=(node "$root/bin/acs.cjs")
fi

folder=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/agent-conversation.XXXXXX") || exit 1
private=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/acs.XXXXXX") || exit 1
trap 'rm -rf "$private"' EXIT

# A variable that is set but empty is an error for acs, so those that were not given are not set.
unset ACS_API_KEY ACS_BASE_URL ACS_PROFILE
[ -z "${INPUT_API_KEY:-}" ] || export ACS_API_KEY=$INPUT_API_KEY
[ -z "${INPUT_BASE_URL:-}" ] || export ACS_BASE_URL=$INPUT_BASE_URL
[ -z "${INPUT_PROFILE:-}" ] || export ACS_PROFILE=$INPUT_PROFILE
unset INPUT_API_KEY

# A word that nobody can guess who writes into the log or into a value.
random_word() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# output <name> <value>: an output of the step. The delimiter is random, so that no value can end it
# and set others.
output() {
  local delimiter
  delimiter=$(random_word)
  printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"${GITHUB_OUTPUT:-/dev/null}"
}

# of_conversation <field>: a field of the conversation; empty when it is null or cannot be read.
of_conversation() {
  "${acs[@]}" conv show "$id" --fields "$1" --format tsv 2>/dev/null
}

printf '%s' "${INPUT_MESSAGE:-}" >"$private/message"
flags=(--file "$private/message" --id-file "$private/id" --wait-timeout "${INPUT_WAIT_TIMEOUT:-1h}")
flags+=(--stop-on-exit --on-confirm exit)
case "${INPUT_REPOSITORY:-}" in
  '') ;;
  none) flags+=(--no-repo) ;;
  *) flags+=("--repo=$INPUT_REPOSITORY") ;;
esac
[ -z "${INPUT_BRANCH:-}" ] || flags+=("--branch=$INPUT_BRANCH")
[ -z "${INPUT_TITLE:-}" ] || flags+=("--title=$INPUT_TITLE")
[ -z "${INPUT_MODEL:-}" ] || flags+=("--model=$INPUT_MODEL")
[ -z "${INPUT_REPLAY:-}" ] || flags+=("--replay=$INPUT_REPLAY")

# What an agent prints is in the log: the runner must not take its lines for workflow commands.
token=$(random_word)
echo "::stop-commands::$token"
# In the background, so that a signal to this script is passed on at once instead of after the end
# of acs.
"${acs[@]}" conv new --follow "${flags[@]}" </dev/null &
running=$!
trap 'kill -INT "$running" 2>/dev/null' INT
trap 'kill -TERM "$running" 2>/dev/null' TERM
while :; do
  wait "$running"
  code=$?
  kill -0 "$running" 2>/dev/null || break
done
trap - INT TERM
id=$(cat "$private/id" 2>/dev/null) || id=
# Before the exports: a job that is cancelled has seconds for all of them.
output exit-code "$code"
output id "$id"
output folder "$([ -z "$id" ] || printf '%s' "$folder")"
warnings=()
if [ -n "$id" ]; then
  "${acs[@]}" conv export "$id" --as html --output "$folder/conversation.html" >/dev/null ||
    warnings+=("the page of conversation $id could not be made")
  "${acs[@]}" conv export "$id" --as md --output "$folder/summary.md" >/dev/null ||
    warnings+=("the summary of conversation $id could not be made")
  "${acs[@]}" conv diff "$id" --output "$folder/changes.patch" >/dev/null ||
    warnings+=("the changes of conversation $id could not be read")
  "${acs[@]}" conv result "$id" --output "$private/answer" >/dev/null 2>&1 || true
fi
echo "::$token::"
for warning in "${warnings[@]+"${warnings[@]}"}"; do echo "::warning::$warning"; done

# A file that is there and not empty.
filled() { if [ -s "$1" ]; then printf '%s' "$1"; fi; }

output url "$([ -z "$id" ] || of_conversation url)"
output status "$([ -z "$id" ] || of_conversation status)"
output cost-usd "$([ -z "$id" ] || of_conversation cost_usd)"
output answer "$(cat "$private/answer" 2>/dev/null)"
output page "$(filled "$folder/conversation.html")"
output summary "$(filled "$folder/summary.md")"
output diff "$(filled "$folder/changes.patch")"

if [ -n "$(filled "$folder/summary.md")" ]; then
  cat "$folder/summary.md"
elif [ -n "$id" ]; then
  echo "Conversation $id was started; acs exited with $code."
else
  echo "No conversation was started; acs exited with $code. The log of the step has the reason."
fi >>"${GITHUB_STEP_SUMMARY:-/dev/null}"

case "$code" in
  0) ;;
  8) echo "::error::the run waits for an approval or for a message: acs conv follow $id" ;;
  124) echo "::error::the run did not end in time and was stopped; acs conv send $id continues it" ;;
  *) echo "::error::acs exited with $code; docs/exit-codes.md has its meaning" ;;
esac
exit "$code"
