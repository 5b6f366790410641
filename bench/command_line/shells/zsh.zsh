# _dlroof_words one|list WORD...: one of the words, or several separated by commas.
_dlroof_words() {
  local kind=$1
  shift
  if [[ $kind == list ]]; then
    _sequence -s , compadd - "$@"
  else
    compadd - "$@"
  fi
}

# _dlroof_words_or_files one|list WORD...
_dlroof_words_or_files() {
  local found=1
  _dlroof_words "$@" && found=0
  _files && found=0
  return found
}

# The next two complete words after "--". _arguments leaves "--" in the words if no flag comes before it. (What a function does to
# words and CURRENT ends with the function.)

# The flags of dlroof_bench. A word that is no flag is a file of a command that takes files too.
_dlroof_bench_flags() {
  if [[ $words[CURRENT] != -* ]]; then
    _files
    return
  fi
  [[ $words[1] == -- ]] && words[1]=() && ((--CURRENT))
  words=(dlroof_bench "${words[@]}")
  ((++CURRENT))
  _dlroof_at_dlroof_bench
}

# A program and its arguments.
_dlroof_program() {
  [[ $words[1] == -- ]] && words[1]=() && ((--CURRENT))
  _normal
}

