# A step of installing the component "bundled" (ci/install.cmake): copies the libraries that `dlroof_programs` and `dlroof_modules`
# need into lib/dlroof below `dlroof_folder`, where the programs and these libraries find them, with the licenses of their Debian
# packages. Left out are what every Debian 12 and Ubuntu 22.04 has (glibc, libstdc++, libgcc_s), CUDA's libraries, and oneDNN, which
# belongs to the component "runtime".
find_program(patchelf patchelf REQUIRED)
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${dlroof_programs} MODULES ${dlroof_modules} RESOLVED_DEPENDENCIES_VAR found
     UNRESOLVED_DEPENDENCIES_VAR missing
     PRE_EXCLUDE_REGEXES "^(ld-linux[-a-z0-9_]*|lib(c|m|dl|rt|util|pthread|resolv|gcc_s|stdc\\+\\+))\\.so"
                         "^lib(cuda|cudart|cublas|cublasLt|cupti|nvperf_host|nvrtc|nvJitLink|cudnn[a-z_]*|dnnl)\\.so")
if(missing)
  message(FATAL_ERROR "these libraries are not on this system: ${missing}")
endif()

# Returns the Debian package of a file. The packages' lists name files as they were before /lib became a link to /usr/lib.
function(dlroof_package_of file result)
  string(REGEX REPLACE "^/usr/lib/" "/lib/" before "${file}")
  foreach(path IN ITEMS "${file}" "${before}")
    execute_process(COMMAND dpkg-query -S "${path}" OUTPUT_VARIABLE package RESULT_VARIABLE code ERROR_QUIET)
    string(REGEX MATCH "^[a-z0-9.+-]+" package "${package}")
    if(code EQUAL 0 AND EXISTS "/usr/share/doc/${package}/copyright")
      set(${result} "${package}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "${file}: of no Debian package, so its license is not known; expected a build on Debian or Ubuntu")
endfunction()

set(libraries "${dlroof_folder}/lib/dlroof")
set(licenses "${dlroof_folder}/share/doc/dlroof/licenses")
file(MAKE_DIRECTORY "${libraries}" "${licenses}/common-licenses")
foreach(library IN LISTS found)
  cmake_path(GET library FILENAME name)
  file(REAL_PATH "${library}" file)
  file(COPY_FILE "${file}" "${libraries}/${name}")
  execute_process(COMMAND "${patchelf}" --set-rpath "$ORIGIN" "${libraries}/${name}" COMMAND_ERROR_IS_FATAL ANY)

  dlroof_package_of("${file}" package)
  file(READ "/usr/share/doc/${package}/copyright" text)
  file(MAKE_DIRECTORY "${licenses}/${package}")
  file(WRITE "${licenses}/${package}/copyright" "${text}")
  # The licenses whose texts it refers to.
  string(REGEX MATCHALL "/usr/share/common-licenses/[A-Za-z]+[-0-9.]*[0-9]" common "${text}")
  foreach(license IN LISTS common)
    cmake_path(GET license FILENAME license)
    file(READ "/usr/share/common-licenses/${license}" text)
    file(WRITE "${licenses}/common-licenses/${license}" "${text}")
  endforeach()
endforeach()
