# Completes the last word of a command line of one of dlroof's programs. Before this are _dlroof_words, which prints the subcommands
# and flags of a command's path, and _dlroof_value, which prints for "PATH FLAG" what kinds of values the flag takes (for "PATH" those of
# its positional arguments), a colon and the words to choose from. Both fail for what does not exist.

# _dlroof_offer CURRENT VALUE: completes the text CURRENT of a value that _dlroof_value described.
_dlroof_offer() {
  local current=$1 kinds=${2%%:*} choices=${2#*:} before=''
  if [[ $kinds == *' list '* ]]; then
    before=${current%"${current##*,}"}
    current=${current##*,}
  fi
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$choices" -- "$current")
  case $kinds in
    *' file '*) [[ -z $choices ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current") ;; # else bash offers files
    *' folder '*)
      mapfile -t COMPREPLY < <(compgen -d -- "$current")
      compopt -o filenames
      ;;
    *) [[ -n ${COMPREPLY[*]} ]] || compopt +o default ;;
  esac
}

_dlroof_complete() {
  local line=${COMP_LINE:0:COMP_POINT} words current before path=${1##*/} value one i
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[-1]}
  before=${words[-2]}
  COMPREPLY=()
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    one=${words[i]}
    if [[ $one == -- ]]; then
      value=$(_dlroof_value "$path")
      if [[ $value == *' program '* ]]; then
        # The program's own completion is not asked: its command line begins in the middle of this one.
        if ((i == ${#words[@]} - 2)); then mapfile -t COMPREPLY < <(compgen -c -- "$current"); fi
        return
      fi
      [[ $value == *' flags '* ]] && path=dlroof_bench
    elif _dlroof_words "$path $one" >/dev/null; then path+=" $one"; fi
  done
  if [[ $current == --*=* ]] && value=$(_dlroof_value "$path ${current%%=*}"); then
    before=${current%%=*}=
    _dlroof_offer "${current#*=}" "$value"
    # Readline replaces only what stands behind the last of its separators, "=" and ":".
    [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/$before}")
    one=${current#*=}
    if [[ $one == *:* && $COMP_WORDBREAKS == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${one%:*}":}"); fi
  elif [[ $path != dlroof_bench && $before == -* && $before != -- ]] && value=$(_dlroof_value "$path $before"); then
    _dlroof_offer "$current" "$value"
  else
    # A word that begins no flag is more often a file than one.
    for one in $(_dlroof_words "$path"); do
      [[ $one == "$current"* && ($current == -* || $one != -*) ]] && COMPREPLY+=("$one")
    done
    if [[ -n ${COMPREPLY[*]} ]]; then
      if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
    elif [[ $current != -* ]] && value=$(_dlroof_value "$path"); then
      _dlroof_offer "$current" "$value"
    fi
  fi
}
