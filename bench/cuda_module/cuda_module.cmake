# Builds libdlroof_cuda.so, which contains all code that needs a CUDA library. Programs open it at run time and do not link CUDA.
# The root's CMakeLists.txt includes this file after the modules.
#
# The library consists of the modules in ci/modules.txt that depend on CUDA, their kernels, and the objects of other modules that
# these need.
if(NOT DLROOF_IF_cuda)
  return()
endif()

# dlroof_architectures(RESULT FALLBACK [FIRST LAST]...): sets RESULT to the members of dlroof_cuda_archs within any range FIRST to
# LAST, or to FALLBACK if there are none.
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
# The kernels of a module are its *.cu files. A file name ending in _N means instructions available from architecture N on, or on
# some architectures only. If no requested architecture has them, the file is compiled for one that does, and its kernels are never
# launched.
dlroof_architectures(dlroof_archs_80 80-real 80 999)
dlroof_architectures(dlroof_archs_89 89-real 89 89 120 121)
dlroof_architectures(dlroof_archs_90 90-real 90 999)
set(dlroof_archs_90a 90a-real)   # Hopper's own instructions (wgmma) exist only for sm_90a
set(dlroof_archs_all ${dlroof_cuda_archs})

set(dlroof_cuda_warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-missing-field-initializers)
if(DLROOF_WERROR)
  list(APPEND dlroof_cuda_warnings --Werror=all-warnings -Xcompiler=-Werror)
endif()

# dlroof_kernels(MODULE): creates an OBJECT library (C++17) per group of the module's kernels.
function(dlroof_kernels module)
  string(REPLACE "/" "_" target "${module}")
  file(GLOB sources CONFIGURE_DEPENDS "${dlroof_SOURCE_DIR}/${module}/*.cu")
  foreach(source IN LISTS sources)
    set(group all)
    if(source MATCHES "_([0-9]+a?)\\.cu$")
      set(group ${CMAKE_MATCH_1})
    endif()
    set(kernels ${target}_kernels_${group})
    if(NOT TARGET ${kernels})
      add_library(${kernels} OBJECT)
      set_target_properties(${kernels} PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
                            CUDA_RUNTIME_LIBRARY None CUDA_ARCHITECTURES "${dlroof_archs_${group}}")
      target_compile_options(${kernels} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${dlroof_cuda_warnings}>")
      target_link_libraries(${kernels} PRIVATE dlroof_everywhere)
      list(APPEND dlroof_kernel_targets ${kernels})
    endif()
    target_sources(${kernels} PRIVATE "${source}")
  endforeach()
  set(dlroof_kernel_targets ${dlroof_kernel_targets} PARENT_SCOPE)
endfunction()
set(dlroof_kernel_targets "")
set(dlroof_cuda_targets "")
foreach(module IN LISTS dlroof_cuda_modules)
  dlroof_kernels(${module})
  string(REPLACE "/" "_" module "${module}")
  list(APPEND dlroof_cuda_targets ${module})
endforeach()

set(dlroof_cuda_rpath "$ORIGIN" "$ORIGIN/../nvidia/cu${dlroof_cuda_major}/lib" "$ORIGIN/../nvidia/cudnn/lib")
foreach(library IN ITEMS "${DLROOF_CUBLASLT_LIBRARY}" "${DLROOF_CUPTI_LIBRARY}" "${DLROOF_CUDNN_LIBRARY}")
  if(library)
    cmake_path(GET library PARENT_PATH dlroof_folder)
    list(APPEND dlroof_cuda_rpath "${dlroof_folder}")
  endif()
endforeach()
list(REMOVE_DUPLICATES dlroof_cuda_rpath)

add_library(dlroof_archive STATIC EXCLUDE_FROM_ALL)
foreach(target IN LISTS dlroof_targets)
  target_sources(dlroof_archive PRIVATE $<TARGET_OBJECTS:${target}>)
endforeach()
set_target_properties(dlroof_archive PROPERTIES LINKER_LANGUAGE CXX)

# CMake pads a build RUNPATH with an empty entry, so the build uses the install RUNPATH, which ci/install.cmake replaces.
set(dlroof_cuda_map "${dlroof_SOURCE_DIR}/bench/cuda_module/cuda_module.map")
add_library(dlroof_cuda MODULE)
set_target_properties(dlroof_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${dlroof_BINARY_DIR}" LINKER_LANGUAGE CXX
                      BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${dlroof_cuda_rpath}" LINK_DEPENDS "${dlroof_cuda_map}")
target_link_options(dlroof_cuda PRIVATE LINKER:-z,now LINKER:-z,defs "LINKER:--version-script,${dlroof_cuda_map}")
target_link_libraries(dlroof_cuda PRIVATE dlroof_flags counters_base ${dlroof_cuda_targets} ${dlroof_kernel_targets}
                      dlroof_archive dlroof_cuda_libraries)
# Programs reject a module of another build, so they are built together.
foreach(program IN ITEMS dlroof dlroof_bench)
  add_dependencies(${program} dlroof_cuda dlroof_gpu_trace)
endforeach()
