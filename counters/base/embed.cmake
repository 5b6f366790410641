# cmake -DFILES="a.json;b.json" -DHEADER=counters/gpu_spec.h -DTYPE=BuiltInGpu -DFUNCTION=BuiltInGpus -DOUTPUT=gpus.cpp -P embed.cmake
# Writes `const std::vector<TYPE>& FUNCTION()`, a row {name without extension, text} per file; see dlroof_embed.
set(rows "")
foreach(file IN LISTS FILES)
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME_WE)
  if(text MATCHES "\\)file\"")
    message(FATAL_ERROR "${file} holds )file\", which ends the literal that embeds it")
  endif()
  string(APPEND rows "      {\"${name}\", R\"file(${text})file\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made by counters/base/embed.cmake.\n#include \"${HEADER}\"\n
namespace dlroof {\n
const std::vector<${TYPE}>& ${FUNCTION}() {
  static const std::vector<${TYPE}> files = {\n${rows}  };
  return files;
}\n
}  // namespace dlroof\n")
