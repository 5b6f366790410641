# cmake -DSUITES="a.txt;b.txt" -DOUTPUT=suites.cpp -P embed.cmake
# Writes BuiltInSuites() of bench/suite.h with each file's text.
set(rows "")
foreach(suite IN LISTS SUITES)
  file(READ "${suite}" text)
  get_filename_component(name "${suite}" NAME_WE)
  if(text MATCHES "\\)suite\"")
    message(FATAL_ERROR "${suite} holds )suite\", which ends the literal that embeds it")
  endif()
  string(APPEND rows "      {\"${name}\", R\"suite(${text})suite\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from bench/suites by bench/suites/embed.cmake.\n#include \"bench/suite.h\"\n
namespace dlroof {\n
const std::vector<BuiltInSuite>& BuiltInSuites() {
  static const std::vector<BuiltInSuite> suites = {\n${rows}  };
  return suites;
}\n
}  // namespace dlroof\n")
