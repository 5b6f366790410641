# Completes the last word of a command line of dlroof or dlroof_bench. `dlroof completion bash` writes _dlroof_words, which prints
# the subcommands and flags of a subcommand's path or fails, and _dlroof_suites before this.
_dlroof_complete() {
  local line=${COMP_LINE:0:COMP_POINT} words word path='' bench='' list
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  word=${words[-1]}
  COMPREPLY=()
  [[ ${1##*/} == dlroof_bench ]] && bench=$1
  for one in "${words[@]:1:${#words[@]}-2}"; do
    if [[ $path == ' run' && $one == -- ]]; then
      bench=${1%dlroof}dlroof_bench
    elif [[ -z $bench ]] && _dlroof_words "$path $one" >/dev/null; then path+=" $one"; fi
  done
  if [[ $word == --dlroof_suite=* || (-z $bench && ${words[-2]} == --suite) ]]; then
    list=${word#*=} # "=" begins a word for readline
    mapfile -t COMPREPLY < <(compgen -P "${list%"${list##*,}"}" -W "$_dlroof_suites" -- "${list##*,}")
  elif [[ -n $bench ]]; then
    mapfile -t COMPREPLY < <(compgen -S = -W "$("$bench" --help 2>/dev/null | grep -oE -- '--(dlroof|benchmark)_[a-z_]+')" -- "$word" | sort -u)
    [[ -n ${COMPREPLY[*]} ]] && compopt -o nospace
  else
    # A word that begins no flag is more often a file than one.
    for one in $(_dlroof_words "$path"); do
      [[ $one == "$word"* && ($word == -* || $one != -*) ]] && COMPREPLY+=("$one")
    done
  fi
}
complete -o default -F _dlroof_complete dlroof dlroof_bench
