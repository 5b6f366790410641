# CPack's packages (ci/package.sh makes and tests them): Debian packages for the distribution on which they are built, and an archive
# that runs on any Debian 12, Ubuntu 22.04 or newer without installing anything.
execute_process(COMMAND git -C "${CMAKE_CURRENT_SOURCE_DIR}" log -1 --date=rfc "--format=%an <%ae>;%ad" OUTPUT_VARIABLE dlroof_said
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT dlroof_said)   # no repository
  string(TIMESTAMP dlroof_said "dlroof maintainers <maintainers@localhost>;%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
list(GET dlroof_said 0 dlroof_maintainer)
list(GET dlroof_said 1 dlroof_date)
set(DLROOF_MAINTAINER "${dlroof_maintainer}" CACHE STRING "name and address in the Debian packages")

# Debian's changelog and copyright of a package, in the component debian_PACKAGE.
function(dlroof_debian_documents package)
  set(folder "${dlroof_BINARY_DIR}/generated/debian/${package}")
  file(CONFIGURE OUTPUT "${folder}/changelog" CONTENT "dlroof (@PROJECT_VERSION@) unstable; urgency=medium

  * Release @PROJECT_VERSION@: CHANGELOG.md has the changes.

 -- @DLROOF_MAINTAINER@  @dlroof_date@
" @ONLY)
  # Without a time inside, the same contents are the same bytes.
  execute_process(COMMAND gzip -9nf changelog WORKING_DIRECTORY "${folder}" RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(STATUS "dlroof: without gzip: packages will have no changelog")
    return()
  endif()
  configure_file(ci/copyright.txt "${folder}/copyright" COPYONLY)
  install(FILES "${folder}/changelog.gz" "${folder}/copyright" DESTINATION "share/doc/${package}" COMPONENT debian_${package} EXCLUDE_FROM_ALL)
endfunction()

set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME dlroof)
set(CPACK_PACKAGE_VENDOR dlroof)
set(CPACK_PACKAGE_CONTACT "${DLROOF_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "benchmarks of deep-learning operators on rooflines")
set(CPACK_PACKAGE_FILE_NAME "dlroof-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_PACKAGE_DIRECTORY "${dlroof_BINARY_DIR}/packages")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_SOURCE_DIR}/ci/cpack_components.cmake")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SOURCE dlroof)
# Where dpkg-shlibdeps finds libraries of no Debian package: CUDA's.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "")
foreach(library IN ITEMS "${DLROOF_CUBLASLT_LIBRARY}" "${DLROOF_CUPTI_LIBRARY}" "${DLROOF_CUDNN_LIBRARY}")
  if(library)
    cmake_path(GET library PARENT_PATH folder)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${folder}")
  endif()
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# Each group is a package: its name, the components, and the control file's fields.
set(dlroof_debian_dlroof runtime)
set(dlroof_debian_libdlroof-dev development)
set(CPACK_DEBIAN_DLROOF_PACKAGE_NAME dlroof)
set(CPACK_DEBIAN_DLROOF_PACKAGE_SECTION science)
set(CPACK_DEBIAN_DLROOF_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DLROOF_PACKAGE_RECOMMENDS gnuplot-nox)   # pictures
set(CPACK_DEBIAN_DLROOF_PACKAGE_SUGGESTS valgrind)        # --dlroof_counters=simulate
set(CPACK_DEBIAN_DLROOF_DESCRIPTION "dlroof measures convolutions, LSTMs, matrix products and other operators of
oneDNN on CPUs, and of cuDNN and cuBLASLt on NVIDIA GPUs, with the ceilings
of the machine, and shows which of them bounds each call.

It compares runs, breaks down times, and profiles programs such as PyTorch.")
set(CPACK_DEBIAN_LIBDLROOF-DEV_PACKAGE_NAME libdlroof-dev)
set(CPACK_DEBIAN_LIBDLROOF-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBDLROOF-DEV_PACKAGE_DEPENDS "dlroof (= ${PROJECT_VERSION}), libbenchmark-dev, libfmt-dev, libhwloc-dev, libsimdjson-dev, \
libutf8proc-dev, pkg-config, zlib1g-dev, liblzma-dev, libzstd-dev")
set(CPACK_DEBIAN_LIBDLROOF-DEV_DESCRIPTION "The library dlroof::benchmark puts benchmarks that are written with
Google Benchmark on the rooflines of the machine: a header, a static
library and its CMake and pkg-config files.")
set(dlroof_packages dlroof libdlroof-dev)
foreach(package IN LISTS dlroof_packages)
  dlroof_debian_documents(${package})
endforeach()
include(CPack)
foreach(package IN LISTS dlroof_packages)
  cpack_add_component_group(${package})
  foreach(component IN ITEMS ${dlroof_debian_${package}} debian_${package})
    cpack_add_component(${component} GROUP ${package})
  endforeach()
endforeach()
