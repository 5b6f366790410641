#include "bench/workload/library_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "counters/base/error.h"

namespace dlroof::workload {
namespace {

// cuDNN 9's status divided by 1000 is its kind, such as BAD_PARAM.
constexpr int kKind = 1000, kBadParam = 2, kNotSupported = 3;
// Statuses of a bad installation: INCOMPATIBLE_CUDA_DRIVER, INCOMPATIBLE_CUDART,
// RUNTIME_PREREQUISITE_MISSING (such as NVRTC), SUBLIBRARY_UNAVAILABLE.
constexpr std::array<int, 4> kInstallation = {3005, 3006, 3008, 3009};

// Version numbers are major * 10000 + minor * 100 since cuDNN 9, major * 1000 + minor * 100 before.
std::size_t Major(std::size_t version) { return version / (version < 10000 ? 1000 : 10000); }
std::size_t Minor(std::size_t version) { return version / 100 % (version < 10000 ? 10 : 100); }

bool Has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

// Returns the ISA at the end of an implementation's name, after the last colon. "any" (plain C++)
// counts as an ISA without a matrix unit and without dot-product instructions.
std::optional<std::string_view> IsaIn(std::string_view implementation) {
  const auto colon = implementation.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto isa = implementation.substr(colon + 1);
  for (const std::string_view begin : {"avx", "sse", "any"})
    if (isa.starts_with(begin)) return isa;
  return std::nullopt;
}

// "avx512_core_bf16" and every later AVX-512 ISA have vdpbf16ps.
bool HasBf16Dot(std::string_view isa) {
  return Has(isa, "avx512_core_bf16") || Has(isa, "avx512_core_fp16") || Has(isa, "avx10");
}

}  // namespace

bool IsRefusal(int status, Stage stage) {
  if (std::ranges::count(kInstallation, status) > 0) return false;
  const int kind = status / kKind;
  return kind == kNotSupported || (kind == kBadParam && stage == Stage::kDescribe);
}

bool IsBroken(const Failure& failure) { return failure.broken; }

void Throw(const Failure& failure) {
  if (failure.broken) throw std::runtime_error(failure.text);
  throw Unsupported(failure.text);
}

void ThrowFirst(const std::vector<Failure>& failures) {
  if (failures.empty()) throw std::logic_error("nothing failed");
  const auto broken = std::ranges::find_if(failures, IsBroken);
  Throw(broken != failures.end() ? *broken : failures.front());
}

std::string VersionText(std::size_t version) {
  return fmt::format("{}.{}.{}", Major(version), Minor(version), version % 100);
}

std::optional<Reason> CudnnMismatch(std::size_t found, int built_for_major) {
  if (Major(found) == static_cast<std::size_t>(built_for_major)) return std::nullopt;
  return Reason{fmt::format(
      "cuDNN {} was found, but this build needs {}: put the folder of cuDNN {} first in "
      "LD_LIBRARY_PATH",
      VersionText(found), built_for_major, built_for_major)};
}

void RequireTf32(std::string_view type, const char* override_value) {
  if (override_value == nullptr || *override_value == 0) return;
  const std::string_view value = override_value;
  if (type == "tf32" && value == "0")
    throw Unsupported("{}=0 turns tf32 off in cuDNN: unset it", kTf32Override);
  if (type == "f32" && value != "0")
    throw Unsupported("{}={} may turn f32 into tf32 in cuDNN: unset it", kTf32Override, value);
}

std::int64_t VectorLanes(std::string_view implementation, std::string_view isa) {
  const auto text = Has(implementation, ":") ? implementation : isa;
  if (Has(text, "avx512") || Has(text, "avx10")) return 16;
  return Has(text, "avx") ? 8 : 4;
}

std::string MatrixPipe(std::string_view type, std::string_view implementation,
                       std::string_view effective_isa) {
  const auto isa = IsaIn(implementation).value_or(effective_isa);
  const bool amx = Has(isa, "amx");
  if (type == "f64") return "fp64.vector";
  if (type == "f32") return "fp32.vector";
  if (type == "bf16") return amx ? "bf16.matrix" : HasBf16Dot(isa) ? "bf16.vector" : "fp32.vector";
  if (type == "f16")
    return Has(isa, "amx_fp16") || Has(isa, "amx_2") ? "fp16.matrix" : "fp32.vector";
  if (type == "int8" || type.starts_with("u8") || type.starts_with("s8"))
    return amx ? "int8.matrix" : "int8.vector";
  throw std::logic_error(fmt::format("no pipe for type {}", type));
}

std::optional<std::string> NamedMatrixPipe(std::string_view type, std::string_view implementation) {
  const bool isa_decides = type != "f64" && type != "f32";
  if (isa_decides && !IsaIn(implementation)) return std::nullopt;
  return MatrixPipe(type, implementation, "");
}

}  // namespace dlroof::workload
