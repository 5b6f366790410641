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

# Drops "--" from the words of a positional argument: _arguments leaves it there if no flag comes before it.
_dlroof_after_dashes() {
  if [[ $words[1] == -- ]]; then
    shift words
    ((--CURRENT))
  fi
}

# The flags of dlroof_bench after "--". A word that is no flag is a file of a command that takes files too.
_dlroof_bench_flags() {
  if [[ $words[CURRENT] != -* ]]; then
    _files
    return
  fi
  _dlroof_after_dashes
  words=(dlroof_bench "${words[@]}")
  ((++CURRENT))
  _dlroof_at_dlroof_bench
}

# A program and its arguments after "--".
_dlroof_program() {
  _dlroof_after_dashes
  _normal
}

