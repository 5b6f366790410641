# cmake "-DFILES=a.json;b.json" -DFUNCTION=BuiltInGpus -DNAMESPACE=delta -DOUTPUT=BuiltInGpus.cpp -P embed.cmake
# Writes FUNCTION() for dlroof_embed (ci/modules.cmake). The assembler copies the files, so their length has no limit.
set(assembly "")
set(labels "${FUNCTION}_0[]")
set(rows "")
set(count 0)
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  cmake_path(GET file STEM name)
  math(EXPR next "${count} + 1")
  string(APPEND assembly "    \".hidden ${FUNCTION}_${count}\\n${FUNCTION}_${count}: .incbin \\\"${file}\\\"\\n\"\n")
  string(APPEND labels ", ${FUNCTION}_${next}[]")
  string(APPEND rows "      {\"${name}\", {${FUNCTION}_${count}, ${FUNCTION}_${next}}, \"${hash}\"},\n")
  set(count ${next})
endforeach()
file(WRITE "${OUTPUT}" "// Made by ci/embed.cmake.
#include \"counters/base/files.h\"

asm(\".pushsection .rodata\\n\"
${assembly}    \".hidden ${FUNCTION}_${count}\\n${FUNCTION}_${count}: .popsection\\n\");
extern \"C\" [[gnu::visibility(\"hidden\")]] const char ${labels};

namespace dlroof::${NAMESPACE} {

const std::vector<EmbeddedFile>& ${FUNCTION}() {
  static const std::vector<EmbeddedFile> files = {
${rows}  };
  return files;
}

}  // namespace dlroof::${NAMESPACE}
")
