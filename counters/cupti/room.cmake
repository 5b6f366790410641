# The table of NVIDIA's counters, as CuptiMetricsText() and CuptiPassesText() of table.h.
set(dlroof_cupti "${CMAKE_SOURCE_DIR}/${room}")
set(dlroof_cupti_tables "${CMAKE_BINARY_DIR}/generated/cupti_tables.cpp")
add_custom_command(
  OUTPUT "${dlroof_cupti_tables}"
  COMMAND "${CMAKE_COMMAND}" "-DMETRICS=${dlroof_cupti}/tables/metrics.json" "-DPASSES=${dlroof_cupti}/tables/passes.json"
          "-DOUTPUT=${dlroof_cupti_tables}" -P "${dlroof_cupti}/embed.cmake"
  DEPENDS "${dlroof_cupti}/tables/metrics.json" "${dlroof_cupti}/tables/passes.json" "${dlroof_cupti}/embed.cmake"
  COMMENT "embedding the table of NVIDIA's counters" VERBATIM)
target_sources(${target} PRIVATE "${dlroof_cupti_tables}")
