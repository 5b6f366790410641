# Makes the targets that ci/rooms.txt describes: an OBJECT library for each room (its *.cpp), a program X for each X_main.cpp.
# A room.cmake in a room is included once its target is there, with `room` (its folder) and `target`.
#
# A program has its own room and those above it. Objects go straight in: of an archive the linker would drop those that only
# register themselves. Sets dlroof_rooms (targets, in order), dlroof_cuda_rooms (those of the CUDA module) and
# dlroof_room_folders (every folder that is built).

# For a room.cmake: the room's target defines `const std::vector<EmbeddedFile>& FUNCTION()` (counters/base/embedded.h), which
# returns the files that match a pattern below the room, in the order of their names. A changed file is embedded again.
function(dlroof_embed function pattern)
  cmake_path(ABSOLUTE_PATH pattern BASE_DIRECTORY "${CMAKE_SOURCE_DIR}/${room}")
  file(GLOB files CONFIGURE_DEPENDS "${pattern}")
  set(output "${CMAKE_BINARY_DIR}/generated/${function}.cpp")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DFILES=${files}" -DFUNCTION=${function} "-DOUTPUT=${output}" -P "${CMAKE_SOURCE_DIR}/ci/embed.cmake"
    DEPENDS ${files} "${CMAKE_SOURCE_DIR}/ci/embed.cmake"
    COMMENT "embedding what ${function}() returns" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()

# The folders that a pattern of ci/rooms.txt stands for: itself, or for a star every folder without a line of its own.
function(dlroof_folders_of pattern result)
  if(NOT pattern MATCHES "\\*")
    set(${result} ${pattern} PARENT_SCOPE)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/${pattern}/*.cpp")
  set(folders "")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(REMOVE_ITEM folders ${dlroof_named_rooms})
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

# One room. It sees the libraries of every room and those behind the vendors' names in `sees`.
macro(dlroof_room room_folder sees)
  set(room "${room_folder}")
  string(REPLACE "/" "_" target "${room}")
  list(APPEND dlroof_room_folders ${room})
  file(GLOB dlroof_sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${room}/*.cpp")
  foreach(source IN LISTS dlroof_sources)
    if(source MATCHES "/([a-z_]+)_main\\.cpp$")
      set(dlroof_program_${CMAKE_MATCH_1} "${source}")
      list(APPEND dlroof_programs "${CMAKE_MATCH_1}|${room}")
      list(REMOVE_ITEM dlroof_sources "${source}")
    endif()
  endforeach()
  if(dlroof_sources)
    add_library(${target} OBJECT ${dlroof_sources})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${target} PUBLIC dlroof_everywhere PRIVATE dlroof_flags)
    if(NOT "${sees}" MATCHES "onednn|cuda")   # compiled with other flags
      target_precompile_headers(${target} REUSE_FROM dlroof_precompiled)
    endif()
    add_dependencies(${target} dlroof_version)
    foreach(vendor IN ITEMS ${sees})
      target_link_libraries(${target} PUBLIC ${DLROOF_SEES_${vendor}})
    endforeach()
    if("${sees}" MATCHES "cuda" OR "${room}" MATCHES "no_cudnn")
      list(APPEND dlroof_cuda_rooms ${target})
    else()
      list(APPEND dlroof_rooms ${target})
    endif()
    set_target_properties(${target} PROPERTIES DLROOF_ROOM ${room})
    include("${CMAKE_SOURCE_DIR}/${room}/room.cmake" OPTIONAL)
  endif()
endmacro()

add_library(dlroof_everywhere INTERFACE)
target_include_directories(dlroof_everywhere INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_link_libraries(dlroof_everywhere INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads ${CMAKE_DL_LIBS})

# dlroof_precompile(TARGET HEADERS...): parses the headers once. ccache takes the sum beside a precompiled header for its
# content, which would name the build folder: with it another clone and another build folder find the same objects.
set(dlroof_json "${CMAKE_SOURCE_DIR}/counters/base/json.h")
function(dlroof_precompile name)
  target_precompile_headers(${name} PRIVATE "${dlroof_json}" ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dlroof_json}")
  file(SHA256 "${dlroof_json}" sum)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(SHA256 sum "${sum} ${ARGN} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}
    ${DLROOF_SANITIZE} ${nlohmann_json_VERSION} ${fmt_VERSION} ${GTest_VERSION}")
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.gch.sum" "${sum}\n")
endfunction()

# nlohmann's JSON alone takes longer to parse than most files take without it.
file(WRITE "${CMAKE_BINARY_DIR}/generated/precompiled.cpp" "")
add_library(dlroof_precompiled OBJECT "${CMAKE_BINARY_DIR}/generated/precompiled.cpp")
set_target_properties(dlroof_precompiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(dlroof_precompiled PUBLIC dlroof_everywhere PRIVATE dlroof_flags)
dlroof_precompile(dlroof_precompiled <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <filesystem> <fstream> <functional> <map>
                  <optional> <ostream> <set> <sstream> <string> <string_view> <utility> <vector>)

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/ci/rooms.txt")
file(STRINGS ci/rooms.txt dlroof_lines REGEX "^[a-z]")
set(dlroof_named_rooms "")
foreach(line IN LISTS dlroof_lines)
  string(REGEX MATCH "^[^ ]+" pattern "${line}")
  list(APPEND dlroof_named_rooms "${pattern}")
endforeach()
foreach(line IN LISTS dlroof_lines)
  string(REGEX MATCH "^[^ ]+" pattern "${line}")
  set(sees "")
  if(line MATCHES " sees ([a-z0-9,]+)")
    string(REPLACE "," ";" sees "${CMAKE_MATCH_1}")
  endif()
  if(line MATCHES " if ([a-z0-9_]+)")
    if(NOT DLROOF_IF_${CMAKE_MATCH_1})
      continue()
    endif()
  endif()
  dlroof_folders_of("${pattern}" folders)
  foreach(folder IN LISTS folders)
    dlroof_room("${folder}" "${sees}")
  endforeach()
endforeach()

# The programs. A room's subfolders are with it.
foreach(program IN LISTS dlroof_programs)
  string(REGEX MATCH "^([^|]+)\\|(.*)$" program "${program}")
  set(name ${CMAKE_MATCH_1})
  set(home ${CMAKE_MATCH_2})
  set(exclude "")
  if(home MATCHES "/studies/")
    set(exclude EXCLUDE_FROM_ALL)
  endif()
  add_executable(${name} ${exclude} "${dlroof_program_${name}}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE dlroof_flags dlroof_everywhere)
  list(FIND dlroof_room_folders "${home}" last)
  foreach(room IN LISTS dlroof_rooms)
    get_target_property(folder ${room} DLROOF_ROOM)
    list(FIND dlroof_room_folders "${folder}" index)
    if(index LESS_EQUAL last OR folder MATCHES "^${home}/")
      target_link_libraries(${name} PRIVATE ${room})
    endif()
  endforeach()
endforeach()
