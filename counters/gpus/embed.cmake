# cmake -DGPUS="a.json;b.json" -DOUTPUT=gpus.cpp -P embed.cmake
# Writes BuiltInGpus() of counters/gpu_spec.h with each file's text.
set(rows "")
foreach(gpu IN LISTS GPUS)
  file(READ "${gpu}" text)
  get_filename_component(name "${gpu}" NAME_WE)
  if(text MATCHES "\\)gpu\"")
    message(FATAL_ERROR "${gpu} holds )gpu\", which ends the literal that embeds it")
  endif()
  string(APPEND rows "      {\"${name}\", R\"gpu(${text})gpu\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Made from counters/gpus by counters/gpus/embed.cmake.\n#include \"counters/gpu_spec.h\"\n
namespace dlroof {\n
const std::vector<BuiltInGpu>& BuiltInGpus() {
  static const std::vector<BuiltInGpu> gpus = {\n${rows}  };
  return gpus;
}\n
}  // namespace dlroof\n")
