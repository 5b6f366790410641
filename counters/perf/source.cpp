// The counter source "perf": hardware counters through perf events, where this CPU has a table and
// the system lets us.
#include <fmt/format.h>

#include "counters/counter_source.h"
#include "counters/perf/access.h"
#include "counters/perf/count.h"
#include "counters/perf/count_linux.h"

namespace dlroof {
namespace {

std::string WhyNot() {
  static const std::string why = [] {
    const auto answer = AskPerf();
    if (answer.error != 0) return PerfSentence(answer);
    const Cpu cpu = ThisCpu();
    if (PmuTableFor(cpu)) return std::string();
    return fmt::format(
        "no table of events for this CPU ({} family {} model {}): counters/pmus has "
        "those that are known",
        cpu.vendor, cpu.family, cpu.model);
  }();
  return why;
}

Counted Count(const CountRequest& request) {
  return CountWithPerf(PmuTableFor(ThisCpu()).value(), request, CountInKernel);
}

[[maybe_unused]] const bool source_registered =
    RegisterCounterSource({"perf", "cpu", Provenance::kMeasured, WhyNot, Count});

}  // namespace
}  // namespace dlroof
