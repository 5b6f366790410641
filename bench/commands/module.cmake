dlroof_embed(ManualTexts manual/*.txt)
dlroof_embed(ProjectFiles project/*)

# The manual pages and completions, which dlroof writes, where `cmake --install` looks for them.
set(dlroof_share "${CMAKE_BINARY_DIR}/share")
add_custom_command(OUTPUT "${dlroof_share}/documents.stamp" DEPENDS dlroof VERBATIM COMMENT "writing manual pages and completions"
  COMMAND dlroof man --output "${dlroof_share}/man/man1"
  COMMAND dlroof completion all --output "${dlroof_share}"
  COMMAND "${CMAKE_COMMAND}" -E touch "${dlroof_share}/documents.stamp")
add_custom_target(dlroof_documents ALL DEPENDS "${dlroof_share}/documents.stamp")
include(GNUInstallDirs)
if(DLROOF_IF_no_mpi)
  set(dlroof_no_net_page PATTERN dlroof_net.1 EXCLUDE)
endif()
install(DIRECTORY "${dlroof_share}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}" ${dlroof_no_net_page})
install(DIRECTORY "${dlroof_share}/bash-completion" "${dlroof_share}/zsh" "${dlroof_share}/fish" DESTINATION "${CMAKE_INSTALL_DATADIR}")
