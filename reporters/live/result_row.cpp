#include "reporters/live/result_row.h"

#include <fmt/format.h>

#include <array>
#include <map>

namespace dlroof {
namespace {

std::string SpreadText(const Timing& timing) {
  if (!timing.ci95) return "";
  const double half = (timing.ci95->second - timing.ci95->first) / 2 / timing.median;
  return fmt::format("+-{:.1f}%", 100 * half);
}

std::string BoundText(const TimePoint& time) {
  return std::string(time.bound_level ? Key(*time.bound_level) : Key(time.bound));
}

// FLOP/s, intensity and share of the roof that binds: the level with the lowest roof.
std::string RoofColumns(const Placement& placement) {
  const ClassicPoint* binding = nullptr;
  for (const auto& point : placement.classic)
    if (binding == nullptr || point.roof < binding->roof) binding = &point;
  if (binding == nullptr) return fmt::format("{:>9} {:>8} {:>8}", "-", "-", "-");
  const bool sure = placement.time && placement.time->gap;  // no other level may bind
  const auto share =
      binding->fraction && sure ? fmt::format("{:.1f}%", 100 * *binding->fraction) : "-";
  return fmt::format("{:>9.4g} {:>8.3g} {:>8}", binding->flops_per_second / 1e9, binding->intensity,
                     share);
}

std::string CpuText(const Record& record) {
  double seconds = 0;
  int clean = 0;
  for (const auto& repetition : record.repetitions)
    if (!repetition.disturbed && repetition.cpu_seconds) {
      seconds += *repetition.cpu_seconds;
      ++clean;
    }
  return clean == 0 ? "-" : TimeText(seconds / clean);
}

}  // namespace

std::string TimeText(double seconds) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [scale, unit] : kUnits)
    if (seconds >= scale || scale == 1e-9) return fmt::format("{:.4g} {}", seconds / scale, unit);
  return "";
}

std::string ResultSummary(const std::vector<Record>& records) {
  std::map<std::string, int> count;
  for (const auto& record : records) {
    const bool timed = record.status == Status::kOk && Summarize(record.repetitions);
    ++count[timed                          ? "ok"
            : record.status == Status::kOk ? "disturbed"
                                           : std::string(Key(record.status))];
  }
  std::string text = fmt::format("{} benchmarks", records.size());
  for (const auto& [what, number] : count) text += fmt::format(", {} {}", number, what);
  if (count.count("disturbed") > 0)
    text +=
        "; disturbed: other programs held the CPUs or their cores, run these again when the "
        "machine is quiet";
  return text + '\n';
}

std::string ResultHeader(size_t name_width) {
  const auto line = fmt::format("{:<{}} {:>10} {:>7} {:>10} {:>10} {:>9} {:>8} {:>8} {:>9}",
                                "Benchmark", name_width, "Time", "95%", "CPU", "Iterations",
                                "GFLOP/s", "FLOP/B", "of roof", "bound");
  const std::string rule(line.size(), '-');
  return rule + '\n' + line + '\n' + rule + '\n';
}

std::string ResultRow(const Record& record, const Placement& placement, size_t name_width) {
  if (record.status != Status::kOk)
    return fmt::format("{:<{}} {}: {}\n", record.name, name_width, Key(record.status),
                       record.reason);
  const auto timing = Summarize(record.repetitions);
  if (!timing) return fmt::format("{:<{}} no time: {}\n", record.name, name_width, record.reason);
  return fmt::format("{:<{}} {:>10} {:>7} {:>10} {:>10.0f} {} {:>9}\n", record.name, name_width,
                     TimeText(timing->median), SpreadText(*timing), CpuText(record),
                     record.repetitions.front().iterations, RoofColumns(placement),
                     placement.time ? BoundText(*placement.time) : "-");
}

}  // namespace dlroof
