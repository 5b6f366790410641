// What a log says of the library: version, instruction set, threads.
#include "counters/base/number_range.h"
#include "reporters/logs/verbose_line.h"
#include "reporters/text/text.h"

namespace dlroof::logs {
namespace {

void ReadRuntime(std::string_view fields, VerboseLog& log) {
  for (const auto field : SplitText(fields, ',')) {
    if (field.starts_with("runtime:")) log.runtime = text::Printable(field.substr(8));
    const auto threads =
        field.starts_with("nthr:") ? NumberFromZero(field.substr(5)) : std::nullopt;
    if (threads && RangeOf("threads").Contains(*threads)) log.threads = static_cast<int>(*threads);
  }
}

}  // namespace

void ReadFacts(std::string_view fields, VerboseLog& log) {
  const auto isa = fields.find("isa:"), version = fields.find(" v");
  if (fields.starts_with("cpu,isa:")) {
    log.isa_words = text::Printable(fields.substr(isa + 4));
  } else if (fields.starts_with("cpu,runtime:")) {
    ReadRuntime(fields, log);
  } else if (log.version.empty() && version != std::string_view::npos &&
             !fields.starts_with("cpu")) {
    log.version =
        text::Printable(fields.substr(version + 1, fields.find(' ', version + 1) - version - 1));
  }
}

std::optional<std::string> IsaOf(std::string_view words) {
  const auto has = [&](std::string_view word) {
    return words.find(word) != std::string_view::npos;
  };
  const auto amx = words.find("AMX");
  if (amx != std::string_view::npos)
    return words.find(" float16", amx) != std::string_view::npos ? "avx512_core_amx_fp16"
                                                                 : "avx512_core_amx";
  // Since oneDNN 3.5 "Intel AVX 10.1" and "Intel AVX10.2", which contain AVX512-FP16.
  if (has("AVX 10") || has("AVX10")) return "avx512_core_fp16";
  if (has("AVX-512")) {
    if (has("with float16")) return "avx512_core_fp16";
    if (has("bfloat16")) return "avx512_core_bf16";
    return has("DL Boost") ? "avx512_core_vnni" : "avx512_core";
  }
  if (has("AVX2")) {
    if (has("float16")) return "avx2_vnni_2";
    return has("DL Boost") ? "avx2_vnni" : "avx2";
  }
  if (has("AVX")) return "avx";
  if (has("SSE4.1")) return "sse41";
  return std::nullopt;
}

}  // namespace dlroof::logs
