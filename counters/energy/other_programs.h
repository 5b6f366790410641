// CPU time of other programs: what they did meanwhile is in the energy of whole packages.
#pragma once

#include <optional>
#include <string_view>

namespace dlroof::energy {

// [s] that all CPUs together worked since the system started, by /proc/stat's text and the length
// of its ticks; absent: it has another form.
std::optional<double> BusySeconds(std::string_view stat, double ticks_per_second);

// [s] that CPUs worked for other programs than this one, since any moment; absent: not known.
std::optional<double> CpuSecondsOfOthers();

}  // namespace dlroof::energy
