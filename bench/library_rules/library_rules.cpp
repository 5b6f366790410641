#include "bench/library_rules/library_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::library_rules {
namespace {

// cuDNN 9 numbers its statuses in thousands by kind.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART, RUNTIME_PREREQUISITE_MISSING (NVRTC, for one),
// SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

// Before cuDNN 9 a major version was a thousand.
std::size_t Major(std::size_t version) { return version / (version < 10000 ? 1000 : 10000); }
std::size_t Minor(std::size_t version) { return version / 100 % (version < 10000 ? 10 : 100); }

}  // namespace

bool IsRefusal(int status, Stage stage) {
  if (std::ranges::count(kInstallation, status) > 0) return false;
  const int kind = status / kKind;
  return kind == kNotSupported || (kind == kBadParam && stage == Stage::kDescribe);
}

bool Broken(const WhyNot& why) { return why.broken; }

void Throw(const WhyNot& why) {
  if (why.broken) throw std::runtime_error(why.words);
  throw Unsupported(why.words);
}

void ThrowFirst(const std::vector<WhyNot>& failures) {
  if (failures.empty()) throw std::logic_error("nothing failed");
  const auto broken = std::ranges::find_if(failures, Broken);
  Throw(broken != failures.end() ? *broken : failures.front());
}

std::string VersionText(std::size_t version) {
  return fmt::format("{}.{}.{}", Major(version), Minor(version), version % 100);
}

std::string WhyNotThisVersion(std::size_t found, int built_for_major) {
  if (Major(found) == static_cast<std::size_t>(built_for_major)) return "";
  return fmt::format(
      "cuDNN {} was found, and this build needs {}: put its folder first in LD_LIBRARY_PATH",
      VersionText(found), built_for_major);
}

void RequireTf32(std::string_view type, const char* override_value) {
  if (override_value == nullptr || *override_value == 0) return;
  const std::string_view value = override_value;
  if (type == "tf32" && value == "0")
    throw Unsupported("{}=0 turns tf32 off in cuDNN: unset it", kTf32Override);
  if (type == "f32" && value != "0")
    throw Unsupported("{}={} may turn f32 into tf32 in cuDNN: unset it", kTf32Override, value);
}

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
