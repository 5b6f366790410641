# Run at every build (module.cmake): writes version.cpp only when something in it changed.
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12
                OUTPUT_VARIABLE DLROOF_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT DLROOF_COMMIT)
  set(DLROOF_COMMIT "unknown")
endif()
# The layout of everything that a program and the CUDA module share is in headers: their names and texts, and the compiler's
# options, tell one build from another.
file(GLOB_RECURSE headers RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/counters/*.h ${SOURCE_DIR}/ceilings/*.h ${SOURCE_DIR}/reporters/*.h
     ${SOURCE_DIR}/baselines/*.h ${SOURCE_DIR}/bench/*.h)
set(build "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${COMPILE_OPTIONS}")
foreach(header IN LISTS headers)
  file(SHA256 ${SOURCE_DIR}/${header} hash)
  string(APPEND build " ${header} ${hash}")
endforeach()
string(SHA256 build "${build}")
string(SUBSTRING ${build} 0 16 DLROOF_BUILD_ID)
configure_file(${SOURCE_DIR}/counters/base/version.cpp.in ${OUTPUT} @ONLY)
