#include "reporters/roofline/census.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace dlroof {
namespace {

using nlohmann::json;

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

json ToJson(const std::vector<Census>& census) {
  json array = json::array();
  for (const Census& one : census) {
    json object = {{"kernels", one.kernels},
                   {"zero_flop_kernels", one.zero_flop_kernels},
                   {"seconds", one.seconds},
                   {"zero_flop_seconds", one.zero_flop_seconds},
                   {"zero_flop_time_share", one.zero_flop_seconds / one.seconds},
                   {"flops", one.flops},
                   {"flops_per_second", one.flops / one.seconds}};
    if (!one.set.empty()) object["set"] = one.set;
    if (one.flops > 0) object["matrix_share"] = one.matrix_flops / one.flops;
    if (one.launches) object["launches"] = *one.launches;
    if (one.zero_flop_launches) object["zero_flop_launches"] = *one.zero_flop_launches;
    if (one.launches && *one.launches > 0 && one.zero_flop_launches)
      object["zero_flop_launch_share"] = *one.zero_flop_launches / *one.launches;
    array.push_back(object);
  }
  return array;
}

}  // namespace dlroof
