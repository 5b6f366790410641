#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "counters/base/keys.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

// The kernels of counters/cuda/clock_kernels.cu.
constexpr std::array<std::string_view, 4> kClockKernels = {"Empty", "Hold", "ReadAll",
                                                           "WriteStamps"};
constexpr std::string_view kProfileCommand = "dlroof profile --gpu ";

// Returns a qualified name without its namespaces.
std::string_view OwnName(std::string_view function) {
  const auto colons = function.rfind("::");
  return colons == std::string_view::npos ? function : function.substr(colons + 2);
}

bool HasOldKernels(const nlohmann::json& context) {
  const auto& own = Member(context, "dlroof");
  return Text(own, "command").starts_with(kProfileCommand) ||
         Text(Member(own, "imported"), "format") == "ncu";
}

}  // namespace

KernelRecordName KernelNameOf(const Record& record) {
  const std::string_view name = record.name;
  // In a kernel's own name a slash can only be within template arguments or parameters.
  const auto end = name.find_first_of("/<(");
  if (end == std::string_view::npos || name[end] != '/') return {"", name};
  return {name.substr(0, end), name.substr(end + 1)};
}

bool IsClockKernel(std::string_view kernel) {
  const auto function = text::KernelFunction(kernel);
  return function.starts_with("dlroof::") &&
         std::ranges::count(kClockKernels, OwnName(function)) > 0;
}

std::optional<std::string> LeaveOutClockKernels(std::vector<Record>& records) {
  std::set<std::string> names;
  double launches = 0, seconds = 0;
  std::erase_if(records, [&](const Record& record) {
    const auto kernel = KernelNameOf(record).kernel;
    if (!IsClockKernel(kernel)) return false;
    names.emplace(OwnName(text::KernelFunction(kernel)));
    if (const auto* const work = FindValue(record.work, Provenance::kMeasured))
      launches += work->launches.value_or(0);
    for (const auto& repetition : record.repetitions) seconds += repetition.seconds;
    return true;
  });
  if (names.empty()) return std::nullopt;
  return fmt::format(
      "left out: dlroof's own kernels, with which it times calls ({}): {:.0f} launch{}, {}",
      fmt::join(names, ", "), launches, launches == 1 ? "" : "es", text::WithPrefix(seconds, "s"));
}

std::optional<std::string> CompleteOldKernels(RunFile& run) {
  const bool marked = std::ranges::any_of(
      run.records, [](const Record& record) { return record.timed.has_value(); });
  if (marked || !HasOldKernels(run.context)) return std::nullopt;
  for (auto& record : run.records) record.timed = timed::kKernels;
  return LeaveOutClockKernels(run.records);
}

}  // namespace dlroof::record
