// The use of this machine's CPUs beside a measurement. Linux.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlroof::tune {

// All [s], summed over the CPUs since the system started.
struct CpuUse {
  double busy = 0, idle = 0;
  double stolen = 0;  // by the host of a virtual machine
};
// Returns the use of /proc/stat's text; absent: it is not of that form.
std::optional<CpuUse> ParseCpuUse(std::string_view text, double ticks_per_second);

// Returns a sentence about what others used between two readings, of which `own` [s] were ours.
std::string SurroundingsText(const CpuUse& before, const CpuUse& after, double own);

// Watches from its making on.
class Surroundings {
 public:
  Surroundings();
  // Empty: the system does not tell.
  std::string Text() const;

 private:
  std::optional<CpuUse> before_;
  double own_before_;
};

}  // namespace dlroof::tune
