# cmake -DMETRICS=metrics.json -DPASSES=passes.json -DOUTPUT=cupti_tables.cpp -P embed.cmake
# Writes the texts that counters/cupti/table.h declares.
set(body "")
foreach(text IN ITEMS Metrics Passes)
  string(TOUPPER ${text} file)
  file(READ "${${file}}" content)
  if(content MATCHES "\\)cupti\"")
    message(FATAL_ERROR "${${file}} holds )cupti\", which ends the literal that embeds it")
  endif()
  # In pieces: compilers limit the length of one literal.
  string(LENGTH "${content}" length)
  set(pieces "")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${content}" ${begin} 8000 piece)
    string(APPEND pieces "\n    R\"cupti(${piece})cupti\"")
    math(EXPR begin "${begin} + 8000")
  endwhile()
  string(APPEND body "std::string_view Cupti${text}Text() {\n  return${pieces};\n}\n\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from counters/cupti by counters/cupti/embed.cmake.\n#include \"counters/cupti/table.h\"\n
namespace dlroof {\n\n${body}}  // namespace dlroof\n")
