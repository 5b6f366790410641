#include "counters/cpu/huge_pages.h"

#include <fstream>
#include <sstream>
#include <string>

namespace dlroof::cpu {
namespace {

// "7f00-7f80 rw-p ...", which begins a mapping, holds the address; absent for other lines.
std::optional<bool> Holds(const std::string& line, std::uintptr_t address) {
  std::istringstream text(line);
  std::uintptr_t begin = 0, end = 0;
  char dash = 0;
  if (!(text >> std::hex >> begin >> dash >> end) || dash != '-') return std::nullopt;
  return begin <= address && address < end;
}

// [KiB] of "Rss:      128 kB" where the line is the field's.
std::optional<double> Field(const std::string& line, const std::string& name) {
  if (!line.starts_with(name + ":")) return std::nullopt;
  std::istringstream text(line.substr(name.size() + 1));
  double kibibytes = 0;
  return text >> kibibytes ? std::optional(kibibytes) : std::nullopt;
}

}  // namespace

std::optional<double> HugePageShare(std::istream& smaps, std::uintptr_t address) {
  bool here = false;
  std::optional<double> resident;
  for (std::string line; std::getline(smaps, line);) {
    if (const auto holds = Holds(line, address)) {
      if (here) break;
      here = *holds;
    } else if (here) {
      if (const auto all = Field(line, "Rss")) resident = all;
      const auto huge = Field(line, "AnonHugePages");
      if (huge && resident && *resident > 0) return *huge / *resident;
    }
  }
  return std::nullopt;
}

std::optional<double> HugePageShare(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  return HugePageShare(smaps, reinterpret_cast<std::uintptr_t>(address));
}

}  // namespace dlroof::cpu
