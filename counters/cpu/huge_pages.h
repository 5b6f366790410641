// Memory on huge pages, and a check of it: the system may ignore the request.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>

namespace dlroof::cpu {

// [1] share of the resident bytes of the mapping around `address` that lie on huge pages, by
// `smaps` (proc(5)). Absent where no mapping holds the address, nothing of it is resident or the
// text is another.
std::optional<double> HugePageShare(std::istream& smaps, std::uintptr_t address);

// The same of this process; absent also where the system has no such file.
std::optional<double> HugePageShare(const void* address);

}  // namespace dlroof::cpu
