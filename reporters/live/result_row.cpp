#include "reporters/live/result_row.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <vector>

#include "reporters/roofline/placed_run.h"
#include "reporters/text/text.h"

namespace dlroof::live {
namespace {

// Returns the cells of FLOP/s, intensity and share of the roof that binds.
std::array<std::string, 3> RoofCells(const roofline::Placement& placement, std::string_view mark) {
  const auto* binding = roofline::Binding(placement);
  if (binding == nullptr) return {"-", "-", "-"};
  const bool sure = placement.time && placement.time->gap;  // no other level may bind
  return {
      fmt::format("{:.4g}", binding->flops_per_second / 1e9),
      fmt::format("{:.3g}", binding->intensity),
      binding->fraction && sure ? fmt::format("{}{:.1f}%", mark, 100 * *binding->fraction) : "-"};
}

std::string CpuText(const record::Record& record) {
  const bool all = !record::Summarize(record.repetitions);
  double seconds = 0;
  int counted = 0;
  for (const auto& repetition : record.repetitions)
    if ((all || !repetition.disturbed) && repetition.cpu_seconds) {
      seconds += *repetition.cpu_seconds;
      ++counted;
    }
  return counted == 0 ? "-" : TimeText(seconds / counted);
}

// [columns] of a row's cells: rows appear as benchmarks finish, so no row knows the next one's.
std::vector<int> Widths(std::size_t name_width) {
  return {static_cast<int>(name_width), 9, 6, 9, 10, 8, 7, 7, 8};
}

}  // namespace

std::string TimeText(double seconds) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kUnits = {
      {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}};
  for (const auto& [scale, unit] : kUnits)
    if (seconds >= scale || scale == 1e-9) return fmt::format("{:.4g} {}", seconds / scale, unit);
  return "";
}

std::string ResultSummary(const std::vector<record::Record>& records) {
  std::map<std::string, std::size_t> count;
  for (const auto& record : records) {
    const auto timing = record::TimeOf(record.repetitions);
    const bool disturbed = record.status == record::Status::kOk && timing && timing->disturbed;
    ++count[disturbed ? "disturbed" : std::string(record::Key(record.status))];
  }
  std::string text = fmt::format("{} benchmarks", records.size());
  for (const auto& [what, number] : count) text += fmt::format(", {} {}", number, what);
  const auto disturbed = count["disturbed"];
  if (disturbed > 0) text += fmt::format("; {}", roofline::kDisturbedMeaning);
  if (disturbed > count["ok"])
    text += "; this machine was busy throughout: stop other programs, or wait, and run again";
  else if (disturbed > 0)
    text += "; run these again when the machine is quiet";
  return text + '\n';
}

std::string ResultHeader(size_t name_width) {
  const auto line = text::AlignedLine(
      {"Benchmark", "Time", "±", "CPU", "Iterations", "GFLOP/s", "FLOP/B", "of roof", "bound"},
      Widths(name_width));
  const std::string rule(static_cast<std::size_t>(text::TextWidth(line)), '-');
  return rule + '\n' + line + '\n' + rule + '\n';
}

std::string ResultRow(const record::Record& record, const roofline::Placement& placement, size_t name_width) {
  if (record.status != record::Status::kOk)
    return fmt::format("{:<{}} {}: {}\n", record.name, name_width, record::Key(record.status),
                       record.reason);
  const auto timing = record::TimeOf(record.repetitions);
  if (!timing) return fmt::format("{:<{}} no time: {}\n", record.name, name_width, record.reason);
  const auto mark = roofline::MarkOf(timing->disturbed);
  const auto [rate, intensity, share] = RoofCells(placement, mark);
  return text::AlignedLine(
             {record.name, fmt::format("{}{}", mark, TimeText(timing->median)), roofline::SpreadText(*timing),
              CpuText(record), fmt::format("{:.0f}", record.repetitions.front().iterations), rate,
              intensity, share,
              placement.time ? fmt::format("{}{}", mark, roofline::BoundText(*placement.time)) : "-"},
             Widths(name_width)) +
         '\n';
}

}  // namespace dlroof::live
