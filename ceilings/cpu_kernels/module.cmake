# A ceiling is the same in every build type: kernels are always optimised, never instrumented, and fuse nothing by themselves.
# Accumulators become registers only at -O3. The tests compare their results with plain loops.
target_compile_options(${target} PRIVATE -ffp-contract=off)
set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
# The portable kernels fuse where the CPU can.
file(GLOB dlroof_portable CONFIGURE_DEPENDS "${dlroof_SOURCE_DIR}/${module}/*_portable.cpp")
set_source_files_properties(${dlroof_portable}
  PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=fast;$<$<BOOL:${DLROOF_SANITIZE}>:-fno-sanitize=all>")
