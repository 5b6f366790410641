# cmake -DPMUS="a.json;b.json" -DOUTPUT=pmus.cpp -P embed.cmake
# Writes BuiltInPmuTables() of counters/pmu_table.h with each file's text.
set(rows "")
foreach(pmu IN LISTS PMUS)
  file(READ "${pmu}" text)
  get_filename_component(name "${pmu}" NAME_WE)
  if(text MATCHES "\\)pmu\"")
    message(FATAL_ERROR "${pmu} holds )pmu\", which ends the literal that embeds it")
  endif()
  string(APPEND rows "      {\"${name}\", R\"pmu(${text})pmu\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from counters/pmus by counters/pmus/embed.cmake.\n#include \"counters/pmu_table.h\"\n
namespace dlroof {\n
const std::vector<BuiltInPmuTable>& BuiltInPmuTables() {
  static const std::vector<BuiltInPmuTable> tables = {\n${rows}  };
  return tables;
}\n
}  // namespace dlroof\n")
