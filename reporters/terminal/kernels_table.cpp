// The table of a program's GPU kernels, and the names of records in the terminal.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <vector>

#include "reporters/record/kernels.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/terminal/tables.h"
#include "reporters/text/kernel_name.h"
#include "reporters/text/text.h"

namespace dlroof::terminal {
namespace {

using Row = std::vector<std::string>;

// A kernel in the table: its record, and the sums over its launches.
struct Kernel {
  std::size_t index = 0;  // of the run's records
  double seconds = 0;     // [s] of all launches
  std::optional<double> launches;
};

std::optional<double> LaunchesOf(const record::Record& record) {
  for (const auto from : AllProvenances())
    if (const auto work = record.work.find(from);
        work != record.work.end() && work->second.launches)
      return work->second.launches;
  return std::nullopt;
}

// Returns the kernels of each set, the longest first, by set in order of appearance.
std::vector<std::pair<std::string, std::vector<Kernel>>> KernelsBySet(
    const roofline::PlacedRun& run) {
  std::vector<std::pair<std::string, std::vector<Kernel>>> sets;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& record = run.file.records[i];
    if (!record::IsKernelSum(record) || !run.places[i].timing) continue;
    const std::string set(record::KernelNameOf(record).set);
    auto found = std::ranges::find(sets, set, [](const auto& one) { return one.first; });
    if (found == sets.end()) found = sets.insert(sets.end(), {set, {}});
    found->second.push_back({i, run.places[i].timing->median, LaunchesOf(record)});
  }
  for (auto& [set, kernels] : sets)
    std::ranges::stable_sort(kernels, std::ranges::greater{}, &Kernel::seconds);
  return sets;
}

std::vector<std::string> NamesOf(const roofline::PlacedRun& run, const std::vector<Kernel>& kernels,
                                 bool full_names) {
  std::vector<std::string> names;
  for (const auto& kernel : kernels) {
    const auto name = record::KernelNameOf(run.file.records[kernel.index]).kernel;
    names.push_back(full_names ? text::Printable(text::RepairedKernelName(name))
                               : std::string(name));
  }
  return full_names ? names : text::ShortKernelNames(names);
}

Row KernelRow(const std::string& name, const Kernel& kernel, double all_seconds,
              const roofline::PlacedRun& run) {
  const auto& placed = run.places[kernel.index];
  const auto& time = placed.placement.time;
  const auto rate = roofline::WorkRateOf(run.file.records[kernel.index], *placed.timing, run.view);
  return {name,
          text::WithPrefix(kernel.seconds, "s"),
          text::PercentText(kernel.seconds / all_seconds),
          kernel.launches ? fmt::format("{:.0f}", *kernel.launches) : "",
          kernel.launches && *kernel.launches > 0
              ? text::WithPrefix(kernel.seconds / *kernel.launches, "s")
              : "",
          rate ? text::WithPrefix(rate->flops_per_second, "FLOP/s") : "",
          IntensityText(rate),
          roofline::RoofShareText(roofline::RoofShareOf(placed.placement), false),
          time ? roofline::BoundText(*time) : "",
          time ? roofline::TimesOverRoofText(*time) : ""};
}

// Returns "GPU kernels of app: 503 µs of device time in 240 launches ...".
std::string Title(const std::string& set, const std::vector<Kernel>& kernels, double seconds) {
  double launches = 0;
  bool known = true;
  for (const auto& kernel : kernels) {
    known = known && kernel.launches;
    launches += kernel.launches.value_or(0);
  }
  return fmt::format(
      "GPU kernels{}: {} of device time{} (times are sums over launches, without the cost of "
      "launching)",
      set.empty() ? "" : " of " + text::Printable(set), text::WithPrefix(seconds, "s"),
      known ? fmt::format(" in {:.0f} launch{}", launches, launches == 1 ? "" : "es") : "");
}

}  // namespace

std::string NameInTerminal(const record::Record& record, bool full_names) {
  if (!record::IsKernelSum(record)) return text::Printable(record.name);
  const auto kernel = record::KernelNameOf(record).kernel;
  return full_names ? text::Printable(text::RepairedKernelName(kernel))
                    : text::ShortKernelName(kernel);
}

std::string IntensityText(const std::optional<roofline::WorkRate>& rate) {
  if (!rate || !rate->intensity) return "";
  return fmt::format("{} {:<4}", text::ThreeDigits(*rate->intensity),
                     roofline::LevelName(Key(*rate->level)));
}

void WriteKernels(const roofline::PlacedRun& run, int width, std::ostream& out, bool full_names) {
  bool first = true;
  for (const auto& [set, kernels] : KernelsBySet(run)) {
    double seconds = 0;
    for (const auto& kernel : kernels) seconds += kernel.seconds;
    out << (first ? "" : "\n") << Title(set, kernels, seconds) << '\n';
    first = false;
    std::vector<Row> rows = {{"kernel", "time", "% of all", "launches", "per launch", "FLOP/s",
                              "FLOP/byte", "% roof", "bound", "x roof"}};
    const auto names = NamesOf(run, kernels, full_names);
    for (std::size_t i = 0; i < kernels.size(); ++i)
      rows.push_back(KernelRow(names[i], kernels[i], seconds, run));
    text::WriteAligned(rows, full_names ? 0 : width, out);
  }
}

}  // namespace dlroof::terminal
