# The CPUs' event tables, as BuiltInPmuTables() of pmu_table.h.
file(GLOB dlroof_files CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/${room}/tables/*.json")
dlroof_embed(pmus.cpp ${room}/pmu_table.h BuiltInPmuTable BuiltInPmuTables ${dlroof_files})
