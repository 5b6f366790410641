# The completion script, in the folder below share that an installation has.
set(dlroof_completions "${dlroof_BINARY_DIR}/share/bash-completion/completions")
add_custom_command(OUTPUT "${dlroof_completions}/dlroof" DEPENDS dlroof VERBATIM COMMENT "writing the completion"
  COMMAND "${CMAKE_COMMAND}" -E make_directory "${dlroof_completions}"
  COMMAND dlroof completion bash > "${dlroof_completions}/dlroof"
  COMMAND "${CMAKE_COMMAND}" -E copy "${dlroof_completions}/dlroof" "${dlroof_completions}/dlroof_bench")
add_custom_target(dlroof_documents ALL DEPENDS "${dlroof_completions}/dlroof")
install(DIRECTORY "${dlroof_completions}" DESTINATION share/bash-completion COMPONENT runtime)
