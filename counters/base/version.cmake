# Run at every build: writes version.h anew only when something in it changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE DLROOF_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT DLROOF_COMMIT)
  set(DLROOF_COMMIT "unknown")
endif()
configure_file(${SOURCE_DIR}/counters/base/version.h.in ${OUTPUT} @ONLY)
