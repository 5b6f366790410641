# Read by cpack before it makes a package of one kind (ci/package.cmake): which components are in it, and where they are.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
  list(REMOVE_ITEM CPACK_COMPONENTS_ALL bundled)
else()
  set(CPACK_COMPONENTS_ALL runtime development bundled)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
endif()
