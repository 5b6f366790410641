#include "bench/tune/surroundings.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "counters/base/files.h"

namespace dlroof::tune {
namespace {

// [1] of the CPUs' time; less is a quiet machine.
constexpr double kQuiet = 0.05;

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// [s] of CPU time of this process and of its children that have ended.
double OwnSeconds() {
  double seconds = 0;
  for (const auto of : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    getrusage(of, &used);
    seconds += SecondsOf(used.ru_utime) + SecondsOf(used.ru_stime);
  }
  return seconds;
}

std::optional<CpuUse> ReadCpuUse() {
  return ParseCpuUse(ReadFileIfAny("/proc/stat"), static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::optional<CpuUse> ParseCpuUse(std::string_view text, double ticks_per_second) {
  std::istringstream in{std::string(text.substr(0, text.find('\n')))};
  std::string word;
  // proc(5): user nice system idle iowait irq softirq steal; later ones are parts of the first two.
  std::array<double, 8> ticks{};
  if (!(in >> word) || word != "cpu") return std::nullopt;
  for (auto& one : ticks)
    if (!(in >> one)) return std::nullopt;
  const auto& [user, nice, system, idle, wait, irq, soft, steal] = ticks;
  return CpuUse{(user + nice + system + irq + soft) / ticks_per_second,
                (idle + wait) / ticks_per_second, steal / ticks_per_second};
}

std::string SurroundingsText(const CpuUse& before, const CpuUse& after, double own) {
  const double busy = after.busy - before.busy, stolen = after.stolen - before.stolen;
  const double all = busy + stolen + after.idle - before.idle;
  if (all <= 0) return "";
  const double others = std::max(0.0, busy - own) / all, host = stolen / all;
  const auto shares =
      fmt::format("other programs used {:.0f} % of the CPUs' time, the host {:.0f} %", 100 * others,
                  100 * host);
  if (others + host < kQuiet) return "the machine was quiet: " + shares;
  return fmt::format("the machine was busy: {}; the best setting is the best beside them", shares);
}

Surroundings::Surroundings() : before_(ReadCpuUse()), own_before_(OwnSeconds()) {}

std::string Surroundings::Text() const {
  const auto after = ReadCpuUse();
  if (!before_ || !after) return "";
  return SurroundingsText(*before_, *after, OwnSeconds() - own_before_);
}

}  // namespace dlroof::tune
