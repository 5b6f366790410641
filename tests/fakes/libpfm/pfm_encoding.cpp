// By libpfm4 (CMake picks this file).
#include "tests/fakes/pfm_encoding.h"

#include <fmt/format.h>
#include <perfmon/pfmlib.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace dlroof::fakes {
namespace {

// Bits of both vendors' event select registers: user, kernel, interrupt, enable.
constexpr std::uint64_t kHowItRuns = 1U << 16 | 1U << 17 | 1U << 20 | 1U << 22;

[[noreturn]] void Refuse(const std::string& what, int error) {
  throw std::runtime_error(fmt::format("libpfm4: {}: {}", what, pfm_strerror(error)));
}

bool Initialize() {
  setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);  // else it knows no CPU but this one
  const int error = pfm_initialize();
  if (error != PFM_SUCCESS) Refuse("pfm_initialize", error);
  return true;
}

}  // namespace

bool HasPfm() { return true; }

std::optional<std::uint64_t> PfmEncoding(const std::string& event) {
  [[maybe_unused]] static const bool initialized = Initialize();
  std::array<std::uint64_t, 2> codes = {};
  pfm_pmu_encode_arg_t encoding = {};
  encoding.size = sizeof(encoding);
  encoding.codes = codes.data();
  encoding.count = codes.size();
  const int error = pfm_get_os_event_encoding(event.c_str(), PFM_PLM3, PFM_OS_NONE, &encoding);
  if (error == PFM_ERR_NOTFOUND || error == PFM_ERR_ATTR) return std::nullopt;
  if (error != PFM_SUCCESS) Refuse(event, error);
  if (encoding.count != 1)
    throw std::runtime_error(fmt::format("{} needs {} registers", event, encoding.count));
  return codes[0] & ~kHowItRuns;
}

}  // namespace dlroof::fakes
