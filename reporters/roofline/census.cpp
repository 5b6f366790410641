#include "reporters/roofline/census.h"

#include <map>

namespace dlroof {
namespace {

// The best known FLOPs and launches of a record.
const Work* CountedWork(const Record& record) {
  for (const Provenance from : AllProvenances()) {
    const auto found = record.work.find(from);
    if (found != record.work.end() && !found->second.flops.empty()) return &found->second;
  }
  return nullptr;
}

void AddLaunches(const std::optional<double>& more, std::optional<double>& sum) {
  if (sum && more)
    *sum += *more;
  else
    sum.reset();
}

void Add(const Work& work, double seconds, Census& census) {
  double flops = 0;
  for (const auto& [pipe, count] : work.flops) {
    flops += count;
    if (pipe.find(".matrix") != std::string::npos) census.matrix_flops += count;
  }
  census.flops += flops;
  census.seconds += seconds;
  census.kernels += 1;
  AddLaunches(work.launches, census.launches);
  if (flops > 0) return;
  census.zero_flop_seconds += seconds;
  census.zero_flop_kernels += 1;
  AddLaunches(work.launches, census.zero_flop_launches);
}

}  // namespace

std::vector<Census> TakeCensus(const std::vector<Record>& records) {
  std::vector<Census> all;
  std::map<std::string, std::size_t> found;
  for (const Record& record : records) {
    const Work* work = CountedWork(record);
    const auto timing = record.status == Status::kOk ? Summarize(record.repetitions) : std::nullopt;
    if (work == nullptr || !timing) continue;
    const auto slash = record.name.find('/');
    const auto set = slash == std::string::npos ? "" : record.name.substr(0, slash);
    const auto [known, added] = found.try_emplace(set, all.size());
    if (added) {
      all.emplace_back().set = set;
      all.back().launches = all.back().zero_flop_launches = 0;
    }
    Add(*work, timing->median, all[known->second]);
  }
  std::erase_if(all, [](const Census& census) { return census.zero_flop_kernels == 0; });
  return all;
}

double ZeroFlopTimeShare(const Census& census) { return census.zero_flop_seconds / census.seconds; }

double FlopsPerSecond(const Census& census) { return census.flops / census.seconds; }

std::optional<double> ZeroFlopLaunchShare(const Census& census) {
  if (!census.launches || *census.launches <= 0 || !census.zero_flop_launches) return std::nullopt;
  return *census.zero_flop_launches / *census.launches;
}

std::optional<double> MatrixShare(const Census& census) {
  if (census.flops <= 0) return std::nullopt;
  return census.matrix_flops / census.flops;
}

}  // namespace dlroof
