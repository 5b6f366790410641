# A ceiling is the same in every build type: kernels are always optimised, never instrumented, and fuse nothing by themselves.
# Accumulators become registers only at -O3. The tests compare their results with plain loops. A file named after an instruction
# set is compiled for it; it defines nothing that another file could share: kernels local to it, and one table of constants.
target_compile_options(${target} PRIVATE -ffp-contract=off)
set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
set(dlroof_isa_avx2 "-mavx2;-mfma")
set(dlroof_isa_avx512 "-mavx512f")
file(GLOB dlroof_kernels CONFIGURE_DEPENDS "${dlroof_SOURCE_DIR}/${module}/bytes_*.cpp" "${dlroof_SOURCE_DIR}/${module}/flops_*.cpp")
list(FILTER dlroof_kernels EXCLUDE REGEX "_validation\\.cpp$")
foreach(kernels IN LISTS dlroof_kernels)
  string(REGEX MATCH "([a-z0-9]+)\\.cpp$" isa "${kernels}")
  set_source_files_properties("${kernels}" PROPERTIES
    COMPILE_OPTIONS "-O3;${dlroof_isa_${CMAKE_MATCH_1}};$<$<BOOL:${DLROOF_SANITIZE}>:-fno-sanitize=all>")
endforeach()
