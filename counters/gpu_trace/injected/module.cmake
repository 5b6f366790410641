# Builds libdlroof_gpu_trace.so, which the CUDA driver loads into the programs that `dlroof profile --gpu` traces. It needs nothing
# but libc at run time: another program's libstdc++ may be older, and CUPTI is opened where it is found. It is never sanitized,
# because the programs are not.
set(dlroof_injected "${dlroof_SOURCE_DIR}/counters/gpu_trace/injected")
file(GLOB sources CONFIGURE_DEPENDS "${dlroof_injected}/*.cpp")
add_library(dlroof_gpu_trace MODULE ${sources} "${dlroof_SOURCE_DIR}/counters/gpu_trace/trace_file.cpp")
set_target_properties(dlroof_gpu_trace PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${dlroof_BINARY_DIR}" CXX_VISIBILITY_PRESET hidden
                      SKIP_BUILD_RPATH ON LINK_DEPENDS "${dlroof_injected}/exports.map")
target_include_directories(dlroof_gpu_trace PRIVATE "${dlroof_SOURCE_DIR}")
target_include_directories(dlroof_gpu_trace SYSTEM PRIVATE ${DLROOF_CUDART_INCLUDE} ${DLROOF_CUPTI_INCLUDE})
target_link_libraries(dlroof_gpu_trace PRIVATE dlroof_warnings Threads::Threads ${CMAKE_DL_LIBS})
# Unused parts of libstdc++ would need a newer C library than the programs do.
target_link_options(dlroof_gpu_trace PRIVATE -static-libstdc++ -static-libgcc LINKER:-z,defs LINKER:--exclude-libs,ALL
                    LINKER:--gc-sections
                    "LINKER:--version-script,${dlroof_injected}/exports.map")
