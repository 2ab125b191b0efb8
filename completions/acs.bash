# bash completion for acs: for bash 3.2 and newer, without the package bash-completion
_acs() {
  local line="${COMP_LINE:0:COMP_POINT}" words word value
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=('')
  word="${words[${#words[@]}-1]}"
  # bash replaces only what stands after the last = or : of a word
  value="${word##*[=:]}"
  COMPREPLY=()
  compopt -o nosort 2>/dev/null
  while IFS= read -r line; do
    if [[ "$line" == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$value")
    else
      line="${line%%$'\t'*}"
      COMPREPLY+=("${line#"${word%"$value"}"}")
    fi
  done < <(acs __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _acs acs
