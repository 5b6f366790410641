# version.cpp, which names the commit: a script looks at every build, and writes the file only when something in it changed.
set(dlroof_version_cpp "${dlroof_BINARY_DIR}/generated/counters/base/version.cpp")
add_custom_target(dlroof_version BYPRODUCTS ${dlroof_version_cpp}
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${dlroof_SOURCE_DIR} -DOUTPUT=${dlroof_version_cpp} -DPROJECT_VERSION=${PROJECT_VERSION}
          -DCMAKE_CXX_COMPILER_ID=${CMAKE_CXX_COMPILER_ID} -DCMAKE_CXX_COMPILER_VERSION=${CMAKE_CXX_COMPILER_VERSION}
          -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -Dbenchmark_VERSION=${benchmark_VERSION}
          "-DCOMPILE_OPTIONS=${CMAKE_CXX_FLAGS} ${DLROOF_SANITIZE}" -P ${dlroof_SOURCE_DIR}/counters/base/version.cmake)
target_sources(${target} PRIVATE ${dlroof_version_cpp})
add_dependencies(${target} dlroof_version)
# A header of this name was generated here before: objects of an older build folder that used it are compiled again without it.
file(REMOVE "${dlroof_BINARY_DIR}/generated/counters/base/version.h")
