dlroof_embed(ManualTexts manual/*.txt)
dlroof_embed(ProjectFiles project/*)

# Manual pages and completions, which dlroof writes, below share as an installation has them.
set(dlroof_share "${dlroof_BINARY_DIR}/share")
find_program(DLROOF_GZIP gzip)
set(dlroof_compress "")
if(DLROOF_GZIP)   # without a time inside: the same pages are the same bytes
  set(dlroof_compress COMMAND sh -c "\"$1\" -9nf \"$2\"/*.1" sh "${DLROOF_GZIP}" "${dlroof_share}/man/man1")
endif()
add_custom_command(OUTPUT "${dlroof_share}/documents.stamp" DEPENDS dlroof VERBATIM COMMENT "writing manual pages and completions"
  COMMAND "${CMAKE_COMMAND}" -E rm -rf "${dlroof_share}/man"   # pages of commands that are gone
  COMMAND dlroof man --output "${dlroof_share}/man/man1" ${dlroof_compress}
  COMMAND dlroof completion all --output "${dlroof_share}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${dlroof_share}/documents.stamp")
add_custom_target(dlroof_documents ALL DEPENDS "${dlroof_share}/documents.stamp")
foreach(folder IN ITEMS man bash-completion fish zsh)
  install(DIRECTORY "${dlroof_share}/${folder}" DESTINATION share COMPONENT runtime)
endforeach()
