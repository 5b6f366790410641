#include "bench/library_rules/pipe_choice.h"

#include <fmt/format.h>

#include <stdexcept>

namespace dlroof::library_rules {
namespace {

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// The part of an implementation's name that is an ISA: what follows the last colon, when it begins
// as one does. "any" (plain C++) is one too: it has no matrix unit and no dot-product instruction.
std::string_view IsaIn(std::string_view implementation) {
  const auto colon = implementation.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto isa = implementation.substr(colon + 1);
  for (const std::string_view begin : {"avx", "sse", "any"})
    if (isa.starts_with(begin)) return isa;
  return {};
}

// "avx512_core_bf16" has vdpbf16ps, and so has every later AVX-512 ISA.
bool HasBf16Dot(std::string_view isa) {
  return Has(isa, "avx512_core_bf16") || Has(isa, "avx512_core_fp16") || Has(isa, "avx10");
}

}  // namespace

std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa) {
  const auto named = IsaIn(implementation);
  const auto isa = named.empty() ? effective_isa : named;
  const bool amx = Has(isa, "amx");
  if (type == "f64") return "fp64.vector";
  if (type == "f32") return "fp32.vector";
  if (type == "bf16") return amx ? "bf16.matrix" : HasBf16Dot(isa) ? "bf16.vector" : "fp32.vector";
  if (type == "f16") return Has(isa, "amx_fp16") ? "fp16.matrix" : "fp32.vector";
  if (type == "int8" || type.starts_with("u8") || type.starts_with("s8"))
    return amx ? "int8.matrix" : "int8.vector";
  throw std::logic_error(fmt::format("no pipe for type {}", type));
}

std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation) {
  const bool isa_decides = type != "f64" && type != "f32";
  if (isa_decides && IsaIn(implementation).empty()) return std::nullopt;
  return MatrixPipe(type, implementation, "");
}

}  // namespace dlroof::library_rules
