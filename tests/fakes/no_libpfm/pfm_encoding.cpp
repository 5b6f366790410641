// Where there is no libpfm4 (CMake picks this file).
#include "tests/fakes/pfm_encoding.h"

namespace dlroof::fakes {

bool HasPfm() { return false; }

std::optional<std::uint64_t> PfmEncoding(const std::string& /*event*/) { return std::nullopt; }

}  // namespace dlroof::fakes
