# The library for other programs' benchmarks: dlroof::benchmark and dlroof::benchmark_main. It contains no operators and needs no
# oneDNN.
dlroof_linked(linked bench/library)
set(objects "")
set(vendors "")
foreach(module IN LISTS linked)
  # Modules that extend a module of bench are operators or backends.
  if("onednn" IN_LIST dlroof_vendors_${module} OR dlroof_extends_${module} MATCHES "^bench/")
    continue()
  endif()
  string(REPLACE "/" "_" target "${module}")
  if(TARGET ${target})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
    list(APPEND vendors ${dlroof_vendors_${module}})
  endif()
endforeach()
list(REMOVE_DUPLICATES vendors)

# Joined into one object, because a linker drops archive members that only register themselves.
set(object "${dlroof_BINARY_DIR}/generated/dlroof_benchmark.o")
add_custom_command(OUTPUT "${object}" DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "joining the objects of dlroof::benchmark"
                   COMMAND "${CMAKE_LINKER}" -r -o "${object}" ${objects})
add_library(dlroof_benchmark STATIC "${object}")
set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
set_target_properties(dlroof_benchmark PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME benchmark)
target_compile_features(dlroof_benchmark INTERFACE cxx_std_20)
target_include_directories(dlroof_benchmark INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/bench/library/include>
                           $<INSTALL_INTERFACE:include>)
# Of the others only headers are used.
list(REMOVE_ITEM vendors benchmark boost cli json cuda)
target_link_libraries(dlroof_benchmark PUBLIC benchmark::benchmark PRIVATE fmt::fmt Threads::Threads ${CMAKE_DL_LIBS})
foreach(vendor IN LISTS vendors)
  target_link_libraries(dlroof_benchmark PRIVATE ${DLROOF_VENDOR_${vendor}})
endforeach()
if("counters/openmp" IN_LIST linked)
  target_link_libraries(dlroof_benchmark PRIVATE OpenMP::OpenMP_CXX)
endif()
if(DLROOF_SANITIZE)
  target_link_options(dlroof_benchmark INTERFACE -fsanitize=address,undefined)
endif()
add_library(dlroof::benchmark ALIAS dlroof_benchmark)

add_library(dlroof_benchmark_main STATIC bench/library/benchmark_main.cpp)
set_target_properties(dlroof_benchmark_main PROPERTIES EXPORT_NAME benchmark_main)
target_link_libraries(dlroof_benchmark_main PUBLIC dlroof_benchmark)
add_library(dlroof::benchmark_main ALIAS dlroof_benchmark_main)

# --- Files installed for other programs: find_package(dlroof CONFIG), pkg-config
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)
set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/dlroof")
install(TARGETS dlroof_benchmark dlroof_benchmark_main EXPORT dlroofTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(EXPORT dlroofTargets NAMESPACE dlroof:: DESTINATION "${config_folder}" COMPONENT development)
install(DIRECTORY bench/library/include/dlroof DESTINATION include COMPONENT development)
install(DIRECTORY bench/library/examples DESTINATION "${CMAKE_INSTALL_DATADIR}/dlroof" COMPONENT development)
set(dlroof_needs_openmp ${DLROOF_IF_onednn_openmp})
set(dlroof_pc_openmp "")
if(DLROOF_IF_onednn_openmp)
  set(dlroof_pc_openmp "-lgomp")
endif()
configure_package_config_file(bench/library/dlroofConfig.cmake.in "${dlroof_BINARY_DIR}/dlroofConfig.cmake"
                              INSTALL_DESTINATION "${config_folder}")
write_basic_package_version_file("${dlroof_BINARY_DIR}/dlroofConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
configure_file(bench/library/dlroof.pc.in "${dlroof_BINARY_DIR}/dlroof.pc" @ONLY)
install(FILES "${dlroof_BINARY_DIR}/dlroofConfig.cmake" "${dlroof_BINARY_DIR}/dlroofConfigVersion.cmake" DESTINATION "${config_folder}"
        COMPONENT development)
install(FILES "${dlroof_BINARY_DIR}/dlroof.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
# find_package(dlroof) with dlroof_DIR=<build folder>
export(EXPORT dlroofTargets NAMESPACE dlroof:: FILE "${dlroof_BINARY_DIR}/dlroofTargets.cmake")
