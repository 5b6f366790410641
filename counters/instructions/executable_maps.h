// Where a process has code that no file backs: a library's generated kernels. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dlroof {

struct AddressRange {
  std::uint64_t begin = 0, end = 0;  // [byte] the end is outside

  bool operator==(const AddressRange&) const = default;
};

// Reads the text of /proc/PID/maps (proc(5)): executable mappings without a name, or of a memory
// file. Lines that it cannot read are left out.
std::vector<AddressRange> GeneratedCode(std::string_view maps);

}  // namespace dlroof
