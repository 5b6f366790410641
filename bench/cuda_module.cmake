# libdlroof_cuda.so: everything that needs a CUDA library, opened at run time by the programs, which link none. Included
# by the root's CMakeLists.txt after the layers.
#
# A toolkit of 12.6 or newer serves, as does CUDA 13 out of PyPI's wheels (ci/requirements-gpu.txt). It is looked for in
# DLROOF_CUDA_ROOT, else by nvcc on PATH, CUDA_PATH, CUDA_HOME, /usr/local/cuda. Without cuDNN 9.8 the module has everything but
# cuDNN's benchmarks: ceilings and counters of a GPU need none.
set(DLROOF_CUDA_ROOT "" CACHE PATH "CUDA toolkit, or the wheels' folder nvidia/cu13 (empty: looked for)")
set(DLROOF_CUDNN_ROOT "" CACHE STRING "cuDNN 9.8 or newer where it lies elsewhere than CUDA (empty: looked for; OFF: none)")
set(DLROOF_CUDA_ARCHS "" CACHE STRING "architectures of the kernels, as in CMAKE_CUDA_ARCHITECTURES (empty: every one; 90-real builds faster)")

# --- The module's files, one a line. Paths are from the root.

# Files that see a CUDA header; nothing else is compiled against one.
set(DLROOF_CUDA_SOURCES
  bench/cuda_libraries.cpp
  bench/cuda_module.cpp
  ceilings/gpu_bench_cuda.cpp
  ceilings/gpu_gemm_cublaslt.cpp
  ceilings/gpu_overheads_cuda.cpp
  counters/cuda_clock.cpp
  counters/cuda_device.cpp
  counters/cuda_support.cpp
  counters/cupti_calls.cpp
  counters/cupti_host_calls.cpp
  counters/cupti_known_calls.cpp
  counters/cupti_source.cpp
  counters/cupti_trace.cpp
)

# The same, but only with cuDNN; bench/cudnn_absent.cpp stands in for them.
set(DLROOF_CUDNN_SOURCES
  bench/conv2d_cudnn.cpp
  bench/cudnn_cells.cpp
  bench/cudnn_library.cpp
  bench/cudnn_plans.cpp
  bench/cudnn_support.cpp
  bench/lstm_cudnn.cpp
  bench/lstm_cudnn_call.cpp
)

# Kernels for every architecture. C++17, small: nvcc compiles each file once per architecture.
set(DLROOF_CUDA_KERNELS
  ceilings/gpu_chain_kernels.cu
  ceilings/gpu_memory_kernels.cu
  ceilings/gpu_mma_kernels.cu
  counters/cuda_clock_kernels.cu
  counters/cupti_known_kernels.cu
)

# Kernels in instructions that begin with an architecture, or that only some have. Where none of those that were asked for
# has them, they are compiled for one that does and never launched.
set(DLROOF_CUDA_KERNELS_80
  ceilings/gpu_chain_kernels_80.cu
  ceilings/gpu_mma_kernels_80.cu
)
set(DLROOF_CUDA_KERNELS_90
  ceilings/gpu_mma_kernels_90.cu
)
set(DLROOF_CUDA_KERNELS_FP8
  ceilings/gpu_mma_kernels_fp8.cu
)

# Kernels in Hopper's own instructions (wgmma), which exist for sm_90a alone.
set(DLROOF_CUDA_KERNELS_90A
  ceilings/gpu_wgmma_kernels.cu
)

# Files of the layers that the module's need, compiled once more for it. What is missing here is an undefined reference
# when the module is linked.
set(DLROOF_CUDA_SHARED_SOURCES
  bench/benchmark_name.cpp
  bench/conv2d.cpp
  bench/conv2d_case.cpp
  bench/conv2d_check.cpp
  bench/conv2d_inputs.cpp
  bench/conv2d_reference.cpp
  bench/cudnn_conv_case.cpp
  bench/cudnn_engines.cpp
  bench/cudnn_graph.cpp
  bench/cudnn_lstm_case.cpp
  bench/cudnn_lstm_weights.cpp
  bench/cudnn_status.cpp
  bench/cudnn_version.cpp
  bench/device_elements.cpp
  bench/host_memory.cpp
  bench/lstm.cpp
  bench/lstm_tensors.cpp
  bench/lstm_types.cpp
  bench/pipe_choice.cpp
  bench/problem_text.cpp
  bench/seeded_values.cpp
  bench/workload.cpp
  ceilings/choose_roof.cpp
  ceilings/gpu_chips.cpp
  ceilings/gpu_described.cpp
  ceilings/gpu_elements.cpp
  ceilings/gpu_known.cpp
  ceilings/gpu_known_chain.cpp
  ceilings/gpu_known_gemm.cpp
  ceilings/gpu_known_memory.cpp
  ceilings/gpu_known_mma.cpp
  ceilings/gpu_known_wgmma.cpp
  ceilings/gpu_measure.cpp
  ceilings/gpu_measure_overheads.cpp
  ceilings/gpu_measure_rows.cpp
  ceilings/gpu_measure_sustained.cpp
  ceilings/gpu_numbers.cpp
  ceilings/gpu_proof.cpp
  ceilings/gpu_rows.cpp
  ceilings/machine.cpp
  counters/available_memory.cpp
  counters/cupti_counter.cpp
  counters/cupti_decode.cpp
  counters/cupti_failure.cpp
  counters/cupti_plan.cpp
  counters/cupti_recording.cpp
  counters/cupti_report.cpp
  counters/cupti_self_test.cpp
  counters/cupti_session.cpp
  counters/cupti_table.cpp
  ${CMAKE_BINARY_DIR}/counters/cupti_tables.cpp
  ceilings/measured_ceiling.cpp
  ceilings/rate.cpp
  counters/clocks.cpp
  counters/gpu_access.cpp
  counters/gpu_identity.cpp
  counters/gpu_throttle.cpp
  counters/json_reader.cpp
  counters/nvml.cpp
  counters/order_statistics.cpp
  counters/text_hash.cpp
  counters/sm_stamps.cpp
  counters/work.cpp
)

# Tests of the files above, in dlroof_cuda_tests. Those whose suite or name has "OnGpu" in it need a GPU (label gpu).
set(DLROOF_CUDA_TESTS
  tests/cuda_bench_test.cpp
  tests/cuda_clock_test.cpp
  tests/cuda_module_test.cpp
  tests/cupti_cost_gpu_test.cpp
  tests/cupti_gpu_test.cpp
  tests/cupti_host_test.cpp
  tests/cupti_rows_gpu_test.cpp
)

# The same, but only with cuDNN.
set(DLROOF_CUDNN_TESTS
  tests/cudnn_gpu_test.cpp
  tests/cudnn_plans_test.cpp
  tests/cupti_times_gpu_test.cpp
  tests/gpu_sass_test.cpp
  tests/sass_loop.cpp
)

# --- Where CUDA is

# Says why there will be no module; ends the configuration where one was asked for.
macro(dlroof_no_cuda reason)
  if(DLROOF_CUDA STREQUAL "ON")
    message(FATAL_ERROR "dlroof: DLROOF_CUDA=ON, but ${reason}")
  endif()
  set(DLROOF_HAVE_CUDA OFF)
  message(STATUS "dlroof: without the CUDA module: ${reason}")
endmacro()

# The root of the nvcc that was found, links followed. It may be a script that calls another, so it is asked where it is.
function(dlroof_find_cuda_root result)
  if(DLROOF_CUDA_ROOT)
    set(hints "${DLROOF_CUDA_ROOT}/bin")
  else()
    set(hints ENV PATH)
    foreach(folder IN ITEMS "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}" /usr/local/cuda)
      if(folder)
        list(APPEND hints "${folder}/bin")
      endif()
    endforeach()
  endif()
  unset(nvcc CACHE)
  find_program(nvcc nvcc PATHS ${hints} NO_DEFAULT_PATH NO_CACHE)
  if(NOT nvcc)
    set(${result} "" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND "${nvcc}" -v dlroof_no_such_file OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(said MATCHES "_HERE_=([^\r\n]*)")
    set(folder "${CMAKE_MATCH_1}")
  else()
    cmake_path(GET nvcc PARENT_PATH folder)
  endif()
  file(REAL_PATH "${folder}/.." folder)
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# NAME: header and libraries that lie together below one of ROOTS; wheels have no unversioned name.
# Sets NAME_INCLUDE and NAME_LIBRARY, or leaves them empty.
function(dlroof_find_cuda_library name header roots)
  cmake_parse_arguments(PARSE_ARGV 3 library "" "" "NAMES")
  set(${name}_INCLUDE "" PARENT_SCOPE)
  set(${name}_LIBRARY "" PARENT_SCOPE)
  foreach(root IN LISTS roots)
    find_path(include "${header}" PATHS "${root}" "${root}/extras/CUPTI" PATH_SUFFIXES include include/x86_64-linux-gnu
              NO_DEFAULT_PATH NO_CACHE)
    find_library(library NAMES ${library_NAMES} PATHS "${root}" "${root}/extras/CUPTI"
                 PATH_SUFFIXES lib64 lib targets/x86_64-linux/lib lib/x86_64-linux-gnu NO_DEFAULT_PATH NO_CACHE)
    if(include AND library)
      set(${name}_INCLUDE "${include}" PARENT_SCOPE)
      set(${name}_LIBRARY "${library}" PARENT_SCOPE)
      return()
    endif()
    unset(include)
    unset(library)
  endforeach()
endfunction()

# Whether this nvcc and the host's compiler get on; enable_language would end the configuration.
function(dlroof_nvcc_works nvcc result)
  if(NOT "${nvcc} ${CMAKE_CXX_COMPILER}" STREQUAL "${DLROOF_NVCC_WORKED}")
    file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/dlroof_nvcc.cu" "__global__ void nothing() {}\nvoid start() { nothing<<<1, 1>>>(); }\n")
    execute_process(COMMAND "${nvcc}" -ccbin "${CMAKE_CXX_COMPILER}" -c "${CMAKE_BINARY_DIR}/CMakeFiles/dlroof_nvcc.cu"
                            -o "${CMAKE_BINARY_DIR}/CMakeFiles/dlroof_nvcc.o"
                    RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(NOT code EQUAL 0)
      file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/dlroof_nvcc.log" "${said}")
      set(${result} OFF PARENT_SCOPE)
      return()
    endif()
    set(DLROOF_NVCC_WORKED "${nvcc} ${CMAKE_CXX_COMPILER}" CACHE INTERNAL "")
  endif()
  set(${result} ON PARENT_SCOPE)
endfunction()

set(DLROOF_HAVE_CUDA OFF)
set(DLROOF_HAVE_CUDNN OFF)
if(DLROOF_CUDA STREQUAL "OFF")
  message(STATUS "dlroof: without the CUDA module: DLROOF_CUDA=OFF")
  return()
endif()
dlroof_find_cuda_root(dlroof_cuda_root)
if(NOT dlroof_cuda_root)
  dlroof_no_cuda("no nvcc was found (ci/run.sh --gpu installs CUDA's wheels)")
  return()
endif()

execute_process(COMMAND "${dlroof_cuda_root}/bin/nvcc" --version OUTPUT_VARIABLE dlroof_nvcc_version ERROR_QUIET)
string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" dlroof_nvcc_version "${dlroof_nvcc_version}")
set(dlroof_cuda_version "${CMAKE_MATCH_1}")
if(NOT dlroof_cuda_version OR dlroof_cuda_version VERSION_LESS 12.6)
  dlroof_no_cuda("${dlroof_cuda_root} is CUDA '${dlroof_cuda_version}', and 12.6 or newer is needed")
  return()
endif()

# One major version of everything: a library of another CUDA would be found first and fail much later.
string(REGEX MATCH "^[0-9]+" dlroof_cuda_major "${dlroof_cuda_version}")
set(dlroof_cuda_missing "")
foreach(wanted IN ITEMS
    "CUDART|cuda_runtime_api.h|libcudart_static.a"
    "CUBLASLT|cublasLt.h|libcublasLt.so;libcublasLt.so.${dlroof_cuda_major}"
    "CUPTI|cupti_range_profiler.h|libcupti.so;libcupti.so.${dlroof_cuda_major}"
    "NVPERF|cupti_range_profiler.h|libnvperf_host.so")
  string(REPLACE "|" ";" dlroof_wanted "${wanted}")
  list(POP_FRONT dlroof_wanted dlroof_name dlroof_header)
  dlroof_find_cuda_library(DLROOF_${dlroof_name} "${dlroof_header}" "${dlroof_cuda_root}" NAMES ${dlroof_wanted})
  if(NOT DLROOF_${dlroof_name}_LIBRARY)
    list(GET dlroof_wanted 0 dlroof_wanted)
    string(APPEND dlroof_cuda_missing " ${dlroof_header} with ${dlroof_wanted}")
    continue()
  endif()
  file(REAL_PATH "${DLROOF_${dlroof_name}_LIBRARY}" dlroof_real)
  cmake_path(IS_PREFIX dlroof_cuda_root "${dlroof_real}" NORMALIZE dlroof_inside)
  if(NOT dlroof_inside)
    string(APPEND dlroof_cuda_missing " a ${dlroof_header} whose library is its own (${dlroof_real} lies elsewhere)")
  endif()
endforeach()
if(dlroof_cuda_missing)
  dlroof_no_cuda("${dlroof_cuda_root} lacks:${dlroof_cuda_missing}")
  return()
endif()
dlroof_nvcc_works("${dlroof_cuda_root}/bin/nvcc" dlroof_works)
if(NOT dlroof_works)
  dlroof_no_cuda("${dlroof_cuda_root}/bin/nvcc cannot compile with ${CMAKE_CXX_COMPILER} (CMakeFiles/dlroof_nvcc.log says why)")
  return()
endif()
set(DLROOF_HAVE_CUDA ON)

# --- cuDNN: the toolkit's, the wheel's beside it, the system's
if(NOT DLROOF_CUDNN_ROOT STREQUAL "OFF")
  set(dlroof_cudnn_roots "${dlroof_cuda_root}" "${dlroof_cuda_root}/../cudnn" /usr)
  if(DLROOF_CUDNN_ROOT)
    set(dlroof_cudnn_roots "${DLROOF_CUDNN_ROOT}")
  endif()
  dlroof_find_cuda_library(DLROOF_CUDNN cudnn_graph.h "${dlroof_cudnn_roots}" NAMES libcudnn.so libcudnn.so.9)
endif()
set(dlroof_cudnn_text "without cuDNN 9.8 or newer (its benchmarks say so)")
if(DLROOF_CUDNN_LIBRARY)
  # Device properties, by which heuristics are asked without a device, are there since 9.8.
  file(READ "${DLROOF_CUDNN_INCLUDE}/cudnn_version.h" dlroof_cudnn_header)
  string(REGEX MATCH "#define CUDNN_MAJOR +([0-9]+)" dlroof_cudnn_match "${dlroof_cudnn_header}")
  set(dlroof_cudnn_version "${CMAKE_MATCH_1}")
  string(REGEX MATCH "#define CUDNN_MINOR +([0-9]+)" dlroof_cudnn_match "${dlroof_cudnn_header}")
  string(APPEND dlroof_cudnn_version ".${CMAKE_MATCH_1}")
  if(dlroof_cudnn_version VERSION_GREATER_EQUAL 9.8 AND dlroof_cudnn_version VERSION_LESS 10)
    set(DLROOF_HAVE_CUDNN ON)
    set(dlroof_cudnn_text "with ${DLROOF_CUDNN_LIBRARY}")
  else()
    set(dlroof_cudnn_text "without cuDNN: ${DLROOF_CUDNN_LIBRARY} is of ${dlroof_cudnn_version}, expected 9.8 or newer")
  endif()
endif()

# --- nvcc
if(NOT DLROOF_CUDA_ARCHS)
  set(dlroof_cuda_archs 75-real 80-real 86-real 89-real 90)
  if(NOT dlroof_cuda_version VERSION_LESS 12.8)
    set(dlroof_cuda_archs 75-real 80-real 86-real 89-real 90-real 100-real 120)
  endif()
else()
  set(dlroof_cuda_archs ${DLROOF_CUDA_ARCHS})
endif()
set(CMAKE_CUDA_COMPILER "${dlroof_cuda_root}/bin/nvcc")
set(CMAKE_CUDA_ARCHITECTURES ${dlroof_cuda_archs})
if(NOT CMAKE_CUDA_HOST_COMPILER)
  set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
endif()
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache" AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()
# nvcc.profile of the wheels names a folder lib64 that they lack.
cmake_path(GET DLROOF_CUDART_LIBRARY PARENT_PATH dlroof_cudart_folder)
string(APPEND CMAKE_CUDA_FLAGS " -L${dlroof_cudart_folder}")
enable_language(CUDA)
message(STATUS "dlroof: the CUDA module with CUDA ${dlroof_cuda_version} of ${dlroof_cuda_root}, ${dlroof_cudnn_text}")

# --- Targets
if(DLROOF_HAVE_CUDNN)
  list(APPEND DLROOF_CUDA_SOURCES ${DLROOF_CUDNN_SOURCES})
  list(APPEND DLROOF_CUDA_TESTS ${DLROOF_CUDNN_TESTS})
else()
  list(APPEND DLROOF_CUDA_SOURCES bench/cudnn_absent.cpp)
endif()

# Headers and libraries, no objects. libcupti opens libnvperf_host by its bare name, so the module must have it opened already.
add_library(dlroof_cuda_libraries INTERFACE)
target_include_directories(dlroof_cuda_libraries SYSTEM INTERFACE ${DLROOF_CUDART_INCLUDE} ${DLROOF_CUPTI_INCLUDE})
target_link_libraries(dlroof_cuda_libraries INTERFACE "${DLROOF_CUBLASLT_LIBRARY}" "${DLROOF_CUPTI_LIBRARY}" "${DLROOF_NVPERF_LIBRARY}"
                      "${DLROOF_CUDART_LIBRARY}" rt ${CMAKE_DL_LIBS} Threads::Threads)
target_link_options(dlroof_cuda_libraries INTERFACE LINKER:--no-as-needed)
if(DLROOF_HAVE_CUDNN)
  target_include_directories(dlroof_cuda_libraries SYSTEM INTERFACE ${DLROOF_CUDNN_INCLUDE})
  target_link_libraries(dlroof_cuda_libraries INTERFACE "${DLROOF_CUDNN_LIBRARY}")
endif()

# dlroof_cuda_objects(NAME SOURCES... LINK...): objects fit for the module, which shows nothing but its entry.
function(dlroof_cuda_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 objects "" "" "SOURCES;LINK")
  if(NOT objects_SOURCES)
    file(WRITE "${CMAKE_BINARY_DIR}/CMakeFiles/${name}_empty.cpp" "")
    set(objects_SOURCES "${CMAKE_BINARY_DIR}/CMakeFiles/${name}_empty.cpp")
  endif()
  add_library(${name} OBJECT ${objects_SOURCES})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_RUNTIME_LIBRARY None)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(${name} PRIVATE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ${objects_LINK})
  add_dependencies(${name} dlroof_version)
endfunction()

set(dlroof_cuda_warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-missing-field-initializers)
if(DLROOF_WERROR)
  list(APPEND dlroof_cuda_warnings --Werror=all-warnings -Xcompiler=-Werror)
endif()
dlroof_cuda_objects(dlroof_cuda_code SOURCES ${DLROOF_CUDA_SOURCES} LINK dlroof_cuda_libraries dlroof_flags)
dlroof_cuda_objects(dlroof_cuda_shared SOURCES ${DLROOF_CUDA_SHARED_SOURCES} LINK dlroof_flags)
# One of them is made when that layer is built.
add_dependencies(dlroof_cuda_shared counters_layer)
dlroof_cuda_objects(dlroof_cuda_kernels SOURCES ${DLROOF_CUDA_KERNELS})
foreach(group IN ITEMS 80 90 FP8 90A)
  string(TOLOWER "dlroof_cuda_kernels_${group}" kernels)
  dlroof_cuda_objects(${kernels} SOURCES ${DLROOF_CUDA_KERNELS_${group}})
  list(APPEND dlroof_cuda_some_kernels ${kernels})
endforeach()

# dlroof_architectures(RESULT FALLBACK NUMBER...): those of dlroof_cuda_archs from each pair FIRST LAST of numbers.
function(dlroof_architectures result fallback)
  set(chosen "")
  foreach(architecture IN LISTS dlroof_cuda_archs)
    string(REGEX MATCH "^[0-9]+" number "${architecture}")
    set(ranges ${ARGN})
    while(ranges)
      list(POP_FRONT ranges first last)
      if(number AND number GREATER_EQUAL first AND number LESS_EQUAL last)
        list(APPEND chosen ${architecture})
      endif()
    endwhile()
  endforeach()
  if(NOT chosen)
    set(chosen ${fallback})
  endif()
  set(${result} ${chosen} PARENT_SCOPE)
endfunction()
dlroof_architectures(dlroof_archs_80 80-real 80 999)
dlroof_architectures(dlroof_archs_90 90-real 90 999)
dlroof_architectures(dlroof_archs_fp8 89-real 89 89 120 121)
set_target_properties(dlroof_cuda_kernels_80 PROPERTIES CUDA_ARCHITECTURES "${dlroof_archs_80}")
set_target_properties(dlroof_cuda_kernels_90 PROPERTIES CUDA_ARCHITECTURES "${dlroof_archs_90}")
set_target_properties(dlroof_cuda_kernels_fp8 PROPERTIES CUDA_ARCHITECTURES "${dlroof_archs_fp8}")
set_target_properties(dlroof_cuda_kernels_90a PROPERTIES CUDA_ARCHITECTURES 90a-real)
set(dlroof_cuda_objects $<TARGET_OBJECTS:dlroof_cuda_code>)
foreach(kernels IN ITEMS dlroof_cuda_kernels ${dlroof_cuda_some_kernels})
  target_compile_options(${kernels} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${dlroof_cuda_warnings}>")
  list(APPEND dlroof_cuda_objects $<TARGET_OBJECTS:${kernels}>)
endforeach()

set(dlroof_cuda_rpath "$ORIGIN" "$ORIGIN/../nvidia/cu${dlroof_cuda_major}/lib" "$ORIGIN/../nvidia/cudnn/lib")
foreach(library IN ITEMS "${DLROOF_CUBLASLT_LIBRARY}" "${DLROOF_CUPTI_LIBRARY}" "${DLROOF_CUDNN_LIBRARY}")
  if(library)
    cmake_path(GET library PARENT_PATH dlroof_folder)
    list(APPEND dlroof_cuda_rpath "${dlroof_folder}")
  endif()
endforeach()
list(REMOVE_DUPLICATES dlroof_cuda_rpath)

# CMake pads a build RUNPATH with an empty entry, so the installed one serves from the start.
add_library(dlroof_cuda MODULE ${dlroof_cuda_objects} $<TARGET_OBJECTS:dlroof_cuda_shared>)
set_target_properties(dlroof_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}" LINKER_LANGUAGE CXX
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${dlroof_cuda_rpath}")
target_link_options(dlroof_cuda PRIVATE LINKER:-z,now LINKER:-z,defs
                    "LINKER:--version-script,${CMAKE_SOURCE_DIR}/bench/cuda_module.map")
set_target_properties(dlroof_cuda PROPERTIES LINK_DEPENDS "${CMAKE_SOURCE_DIR}/bench/cuda_module.map")
target_link_libraries(dlroof_cuda PRIVATE dlroof_flags dlroof_cuda_libraries fmt::fmt)
install(TARGETS dlroof_cuda LIBRARY DESTINATION bin)
# The programs refuse a module of another build.
foreach(program IN ITEMS dlroof dlroof_bench)
  add_dependencies(${program} dlroof_cuda)
endforeach()
