#_dlroof_words one | list WORD... : one of the words, or several separated by commas.
_dlroof_words() {
  local kind = $1 shift if [[$kind == list]];
  then _sequence - s, compadd - "$@" else compadd - "$@" fi
}

#_dlroof_words_or_files one | list WORD...
_dlroof_words_or_files(){local found = 1 _dlroof_words
                         "$@" && found = 0 _files&& found = 0 return found}
#The flags of dlroof_bench after "--".
_dlroof_bench_flags(){words = (dlroof_bench "${words[@]}")((++CURRENT))_dlroof_at_dlroof_bench}

#A program and its arguments after "--".
_dlroof_program() {
  _normal;
}
