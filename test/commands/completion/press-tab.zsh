# Types each line into one real zsh, presses Tab, and prints what the line then is. $1: a folder, $2: the script, then the lines.
zmodload zsh/zpty zsh/zselect
zpty shell zsh -f -i
# Waits until a file has content: the redirection that creates it and the write are two steps.
wait-for() {
  repeat 1200; do [[ -s $1 ]] && return; zpty -rt shell typed; zselect -t 1; done
  return 1
}
{
  zpty -w shell "cd $1; autoload -Uz compinit; compinit -u -d $1/zcompdump; source $2"
  zpty -w shell 'report() { print -r -- "$BUFFER" > line; BUFFER=; }; zle -N report; bindkey "^X" report; print > ready'
  wait-for $1/ready
  for typed_line in "${@:3}"; do
    zpty -w -n shell $typed_line$'\t'
    zpty -w -n shell $'\C-X'
    wait-for $1/line && cat $1/line
    rm -f $1/line
  done
} always { zpty -d shell; rm -f $1/ready $1/line }
