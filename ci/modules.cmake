# Makes the targets that ci/modules.txt describes: for each module an OBJECT library of its *.cpp, named as its folder with "_"
# for "/". A module.cmake in a module's folder is included once its target is there, with `module` (the folder) and `target`.
# Sets dlroof_modules (the folders that are built), dlroof_targets (those of every module but those of CUDA) and
# dlroof_cuda_modules (the folders of libdlroof_cuda.so).

# For a module.cmake: defines `const std::vector<EmbeddedFile>& FUNCTION()` (counters/base/files.h) in the module's namespace. It
# returns the files that match a pattern below the module's folder, in the order of their names.
function(dlroof_embed function pattern)
  cmake_path(ABSOLUTE_PATH pattern BASE_DIRECTORY "${dlroof_SOURCE_DIR}/${module}")
  file(GLOB files CONFIGURE_DEPENDS "${pattern}")
  set(output "${dlroof_BINARY_DIR}/generated/${function}.cpp")
  set(script "${dlroof_SOURCE_DIR}/ci/embed.cmake")
  cmake_path(GET module FILENAME namespace)
  add_custom_command(OUTPUT "${output}" DEPENDS ${files} "${script}" COMMENT "embedding what ${function}() returns" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${files}" -DFUNCTION=${function} -DNAMESPACE=${namespace} "-DOUTPUT=${output}" -P "${script}")
  target_sources(${target} PRIVATE "${output}")
endfunction()

# dlroof_precompile(TARGET FLAGS HEADERS...): precompiles the headers. ccache knows them by the sum beside the result
# (CCACHE_PCH_EXTSUM in ci/lib.sh), so that another clone and another build folder find the same objects. FLAGS is any text that
# differs where the target's own options differ between builds.
function(dlroof_precompile name flags)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  file(SHA256 "${dlroof_json}" json)
  string(REPLACE "${dlroof_json}" "${json}" headers "${ARGN}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum" "${headers} ${flags} ${CMAKE_CXX_COMPILER_ID} \
${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${nlohmann_json_VERSION} ${fmt_VERSION} ${GTest_VERSION}")
endfunction()

add_library(dlroof_everywhere INTERFACE)
target_include_directories(dlroof_everywhere INTERFACE ${dlroof_SOURCE_DIR} ${dlroof_BINARY_DIR}/generated)
target_link_libraries(dlroof_everywhere INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})

# Two: a file that does not need nlohmann's JSON would pay half a second for it.
set(dlroof_json "${dlroof_SOURCE_DIR}/counters/base/json.h")
file(WRITE "${dlroof_BINARY_DIR}/generated/precompiled.cpp" "")
foreach(suffix IN ITEMS "" _json)
  add_library(dlroof_precompiled${suffix} OBJECT "${dlroof_BINARY_DIR}/generated/precompiled.cpp")
  set_target_properties(dlroof_precompiled${suffix} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(dlroof_precompiled${suffix} PRIVATE dlroof_everywhere dlroof_flags)
  dlroof_precompile(dlroof_precompiled${suffix} "${DLROOF_SANITIZE} ${DLROOF_LTO}" ${dlroof${suffix}} <fmt/format.h> <fmt/ranges.h>
                    <algorithm> <array> <filesystem> <fstream> <functional> <map> <optional> <ostream> <set> <sstream> <string> <string_view>
                    <utility> <vector>)
endforeach()

# --- ci/modules.txt: the folders that a line stands for, each with what it needs, a star replaced
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dlroof_SOURCE_DIR}/ci/modules.txt" "${dlroof_json}")
file(READ ci/modules.txt dlroof_text)
string(REGEX REPLACE "#[^\n]*" "" dlroof_text "${dlroof_text}")
string(REGEX REPLACE "\n +" " " dlroof_text "${dlroof_text}")   # continuation lines
string(REGEX MATCHALL "[^\n:]+:[^\n]*" dlroof_lines "${dlroof_text}")
string(REGEX MATCHALL "[^\n:]+:" dlroof_names "${dlroof_text}")
foreach(line IN LISTS dlroof_lines)
  string(REGEX MATCH "^([^:]+):(.*)$" line "${line}")
  set(name "${CMAKE_MATCH_1}")
  set(needs "${CMAKE_MATCH_2}")
  string(REPLACE "*" "([^/]+)" regex "${name}")
  file(GLOB folders CONFIGURE_DEPENDS RELATIVE "${dlroof_SOURCE_DIR}" "${dlroof_SOURCE_DIR}/${name}")
  foreach(folder IN LISTS folders)
    string(REGEX MATCH "^${regex}$" match "${folder}")
    if(folder STREQUAL name OR NOT "${folder}:" IN_LIST dlroof_names)
      string(REPLACE "*" "${CMAKE_MATCH_1}" dlroof_needs_${folder} "${needs}")
      list(APPEND dlroof_folders "${folder}")
    endif()
  endforeach()
endforeach()

# Modules whose files share private names: each file is compiled by itself also in a unity build.
set(dlroof_apart baselines/history baselines/programs baselines/statistics bench/conv2d bench/conv2d/cudnn bench/matmul
  bench/matmul/onednn bench/profile bench/rows bench/supervise)

foreach(module IN LISTS dlroof_folders)
  separate_arguments(needs UNIX_COMMAND "${dlroof_needs_${module}}")
  cmake_parse_arguments(line "" "if;extends" "vendors;uses" ${needs})
  if(line_if AND NOT DLROOF_IF_${line_if})
    continue()
  endif()
  list(APPEND dlroof_modules ${module})
  list(APPEND dlroof_links_${module} ${line_uses})
  list(APPEND dlroof_links_${line_extends} ${module})
  set(dlroof_extends_${module} "${line_extends}")
  set(dlroof_vendors_${module} ${line_vendors})
  if(line_if STREQUAL "injected")   # a library that only other programs load
    include("${module}/module.cmake")
    continue()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS "${dlroof_SOURCE_DIR}/${module}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  if(NOT sources)   # only headers
    continue()
  endif()
  string(REPLACE "/" "_" target "${module}")
  add_library(${target} OBJECT ${sources})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(module IN_LIST dlroof_apart)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
  target_link_libraries(${target} PUBLIC dlroof_everywhere PRIVATE dlroof_flags)
  foreach(vendor IN LISTS line_vendors)
    target_link_libraries(${target} PUBLIC ${DLROOF_VENDOR_${vendor}})
  endforeach()
  foreach(used IN LISTS line_uses)
    string(REPLACE "/" "_" used "${used}")
    if(TARGET ${used})
      target_link_libraries(${target} PUBLIC ${used})
    endif()
  endforeach()
  if("json" IN_LIST line_vendors)
    target_precompile_headers(${target} REUSE_FROM dlroof_precompiled_json)
  elseif(NOT line_vendors MATCHES "onednn|cuda")   # whose options differ
    target_precompile_headers(${target} REUSE_FROM dlroof_precompiled)
  endif()
  if(line_if MATCHES "^cu")
    list(APPEND dlroof_cuda_modules ${module})
  else()
    list(APPEND dlroof_targets ${target})
  endif()
  include("${module}/module.cmake" OPTIONAL)
endforeach()

# dlroof_linked(OUTPUT MODULE): the module, the modules that it uses and those that extend one of them.
function(dlroof_linked output module)
  set(linked "")
  set(waiting ${module})
  while(waiting)
    list(POP_FRONT waiting next)
    if(NOT next IN_LIST linked)
      list(APPEND linked ${next})
      list(APPEND waiting ${dlroof_links_${next}})
    endif()
  endwhile()
  set(${output} ${linked} PARENT_SCOPE)
endfunction()

# dlroof_program(NAME MODULE [EXCLUDE_FROM_ALL]): MODULE/NAME_main.cpp with dlroof_linked(MODULE). Objects, because a linker
# drops those of an archive that only register themselves.
function(dlroof_program name module)
  add_executable(${name} ${ARGN} "${module}/${name}_main.cpp")
  target_link_libraries(${name} PRIVATE dlroof_flags dlroof_everywhere)
  dlroof_linked(linked ${module})
  foreach(next IN LISTS linked)
    string(REPLACE "/" "_" target "${next}")
    if(TARGET ${target})
      target_link_libraries(${name} PRIVATE ${target})
    endif()
  endforeach()
endfunction()
