# What is installed where (bench/install.md). All of it finds itself relative to the programs (counters/base/program.h), and no
# installed file names a folder of the build (ci/check_installed.sh).
#   bin              the programs
#   lib/dlroof       the CUDA module, and oneDNN unless it is the system's
#   share/dlroof     stored runs; the hook of `dlroof profile --torch`; copies of what the programs contain: suites and GPU data
#   share/doc/dlroof the pages and licenses
# Components: runtime, development (the library's headers and CMake files), and two of packages only, which
# `cmake --install` leaves out: debian (copyright and changelog) and bundled (all other libraries, for the archive).
set(dlroof_private_libraries lib/dlroof)

# The same data beside the programs of the build.
foreach(row IN ITEMS "baselines|baselines/stored|json" "suites|bench/suites|txt" "gpus|counters/delta/gpus|json" "torch_hook|bench/profile/torch_hook|py")
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 name)
  list(GET row 1 folder)
  list(GET row 2 extension)
  install(DIRECTORY "${folder}/" DESTINATION "share/dlroof/${name}" COMPONENT runtime FILES_MATCHING PATTERN "*.${extension}")
  file(MAKE_DIRECTORY "${dlroof_BINARY_DIR}/share/dlroof")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}/${folder}" "${dlroof_BINARY_DIR}/share/dlroof/${name}" SYMBOLIC)
endforeach()

# What ci/package.sh made by help2man.
install(DIRECTORY "${dlroof_BINARY_DIR}/share/man" DESTINATION share COMPONENT runtime OPTIONAL)

# --- Programs and libraries
set(dlroof_installed_rpath "$ORIGIN/../${dlroof_private_libraries}")
set_target_properties(dlroof dlroof_bench PROPERTIES INSTALL_RPATH "${dlroof_installed_rpath}")
install(TARGETS dlroof dlroof_bench RUNTIME DESTINATION bin COMPONENT runtime)

# oneDNN comes along unless the dynamic linker finds it: Debian's is too old, and PyPI's is in a folder of the build.
if(DLROOF_IF_onednn)
  get_target_property(dlroof_onednn_type DNNL::dnnl TYPE)
  file(REAL_PATH "${dlroof_dnnl_lib}" dlroof_onednn_folder)
  if(dlroof_onednn_type STREQUAL "SHARED_LIBRARY" AND NOT dlroof_onednn_folder IN_LIST CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES)
    install(FILES "$<TARGET_FILE:DNNL::dnnl>" DESTINATION ${dlroof_private_libraries} RENAME "$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>"
            COMPONENT runtime)
    # Strips it, as CMake does with its own targets; and its own libraries are beside it, where they are packed too.
    find_program(DLROOF_PATCHELF patchelf)
    mark_as_advanced(DLROOF_PATCHELF)
    install(CODE "set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${dlroof_private_libraries}/$<TARGET_SONAME_FILE_NAME:DNNL::dnnl>\")
      if(CMAKE_INSTALL_DO_STRIP AND NOT \"${CMAKE_STRIP}\" STREQUAL \"\")
        execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-unneeded \"\${file}\")
      endif()
      if(EXISTS \"${DLROOF_PATCHELF}\")
        execute_process(COMMAND \"${DLROOF_PATCHELF}\" --set-rpath [[$ORIGIN]] \"\${file}\")
      endif()" COMPONENT runtime)
    file(GLOB licenses "${dlroof_dnnl_lib}/../share/doc/onednn/*" "${dlroof_dnnl_lib}/../share/doc/dnnl/*")
    install(FILES ${licenses} DESTINATION share/doc/dlroof/licenses/onednn COMPONENT runtime)
  endif()
endif()
if(TARGET dlroof_cuda)
  # The module is built with the folders of the build's CUDA. Installed, it finds CUDA as bench/gpu_loader/loader.h says.
  list(JOIN dlroof_cuda_rpath ":" dlroof_cuda_rpath_text)
  install(TARGETS dlroof_cuda LIBRARY DESTINATION ${dlroof_private_libraries} COMPONENT runtime)
  install(CODE "file(RPATH_CHANGE FILE \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${dlroof_private_libraries}/libdlroof_cuda.so\"
     OLD_RPATH [[${dlroof_cuda_rpath_text}]] NEW_RPATH [[$ORIGIN]])" COMPONENT runtime)
  install(TARGETS dlroof_gpu_trace LIBRARY DESTINATION ${dlroof_private_libraries} COMPONENT runtime)
endif()

# --- Documents
file(GLOB dlroof_pages CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.md LICENSE CITATION.cff counters/*.md ceilings/*.md
     reporters/*.md baselines/*.md baselines/studies/*.md baselines/stored/*/*.svg bench/*.md bench/*/*.md)
foreach(page IN LISTS dlroof_pages)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES "${page}" DESTINATION "share/doc/dlroof/${folder}" COMPONENT runtime)
endforeach()
if(DLROOF_PLOTLY_JS)   # which the programs contain
  cmake_path(SET site_packages NORMALIZE "${DLROOF_PLOTLY_JS}/../../..")   # no glob passes through a file
  file(GLOB licenses "${site_packages}/plotly-*.dist-info/licenses/LICENSE*" "${site_packages}/plotly-*.dist-info/LICENSE*")
  install(FILES ${licenses} DESTINATION share/doc/dlroof/licenses/plotly.js COMPONENT runtime)
endif()

# --- Packages
# The libraries of the build's system that the programs need, for an archive that runs on a system without them.
install(CODE "set(dlroof_programs \"$<TARGET_FILE:dlroof>\" \"$<TARGET_FILE:dlroof_bench>\")
  set(dlroof_modules $<$<TARGET_EXISTS:dlroof_cuda>:\"$<TARGET_FILE:dlroof_cuda>\">)
  set(dlroof_folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")" COMPONENT bundled EXCLUDE_FROM_ALL)
install(SCRIPT ci/bundle_libraries.cmake COMPONENT bundled EXCLUDE_FROM_ALL)
include(ci/package.cmake)
