#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/roofline/placed_run.h"
#include "reporters/roofline/roofline.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr size_t kMaxToFix = 3;

// Layers of a suite whose names differ only in the problem.
struct Group {
  record::Record parts;  // the parts that the layers' names share, e.g. op and device
  std::vector<SuiteLayer> layers;
};

std::vector<Group> GroupsOf(const std::vector<SuiteLayer>& layers) {
  text::InOrder<Group> groups;
  for (const auto& layer : layers) {
    record::Record parts{.name = layer.name};
    record::SplitName(parts);
    auto& group = groups[fmt::format("{}/{}/{}/{}/{}/{}", parts.op, parts.device, parts.library,
                                     parts.direction, parts.type, fmt::join(parts.options, "/"))];
    group.parts = std::move(parts);
    group.layers.push_back(layer);
  }
  return VectorOf<Group>(groups.all, &std::pair<std::string, Group>::second);
}

// Adds an opportunity if the call takes more time than its roof requires. `seconds`: [s] of a call.
void AddOpportunity(std::size_t record, double count, double seconds, const TimePoint& time,
                    std::vector<Opportunity>& found) {
  const double all = count * seconds;
  if (time.times_over_roof > 1)
    found.push_back({record, count, all, all - all / time.times_over_roof, time.at_least});
}

// Keeps the `most` opportunities with the most time above the roof, in this order.
void KeepLargest(std::size_t most, std::vector<Opportunity>& found) {
  std::ranges::stable_sort(found, std::ranges::greater{}, &Opportunity::above_roof_seconds);
  if (found.size() > most) found.resize(most);
}

// Adds to a sum, which becomes unknown with an unknown number.
void AddIfKnown(const std::optional<double>& more, std::optional<double>& sum) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

// Adds a layer, the record with this index, to `model` if it has a time. Adds its time to
// `placed_seconds` [s] if it is placed.
void AddLayer(const record::RunFile& file, std::size_t index, double count, ModelSummary& model,
              double& placed_seconds) {
  const auto& record = file.records[index];
  const auto timing =
      record.status == record::Status::kOk ? record::TimeOf(record.repetitions) : std::nullopt;
  if (!timing) return;
  const double seconds = count * timing->median;
  const auto flops = BestKnownFlops(record);
  if (model.layers_measured++ == 0) model.seconds = model.flops = 0;
  model.noisy = model.noisy || timing->noisy;
  model.calls_measured += count;
  *model.seconds += seconds;
  AddIfKnown(flops ? std::optional(count * *flops) : std::nullopt, model.flops);
  const auto time = Place(record, record::MachineFor(file, record)).time;
  if (!time) return;
  ++model.layers_placed;
  model.roof_specified = model.roof_specified || time->specified;
  model.roof_at_most = model.roof_at_most || time->at_least;
  model.roof_seconds = model.roof_seconds.value_or(0) + seconds / time->times_over_roof;
  placed_seconds += seconds;
  AddOpportunity(index, count, timing->median, *time, model.fix_first);
}

using IndexByName = std::unordered_map<std::string, std::size_t>;

std::optional<ModelSummary> Summary(const std::string& suite, const Group& group,
                                    const record::RunFile& file, const IndexByName& records) {
  ModelSummary model{.suite = suite, .parts = group.parts};
  double placed_seconds = 0;
  bool any = false;
  for (const auto& layer : group.layers) {
    ++model.layers_total;
    model.calls_total += layer.count;
    const auto found = records.find(layer.name);
    if (found == records.end()) continue;
    any = true;
    AddLayer(file, found->second, layer.count, model, placed_seconds);
  }
  if (!any) return std::nullopt;
  if (model.flops) model.flops_per_second = *model.flops / *model.seconds;
  if (model.roof_seconds) model.roof_fraction = *model.roof_seconds / placed_seconds;
  KeepLargest(kMaxToFix, model.fix_first);
  return model;
}

void Add(const Work& work, double seconds, ZeroFlopSummary& summary) {
  double flops = 0;
  for (const auto& [pipe, count] : work.flops) {
    flops += count;
    if (pipe.find(".matrix") != std::string::npos) summary.matrix_flops += count;
  }
  summary.flops += flops;
  summary.seconds += seconds;
  summary.kernels += 1;
  AddIfKnown(work.launches, summary.launches);
  if (flops > 0) return;
  summary.zero_flop_seconds += seconds;
  summary.zero_flop_kernels += 1;
  AddIfKnown(work.launches, summary.zero_flop_launches);
}

}  // namespace

std::optional<double> BestKnownFlops(const record::Record& record) {
  const auto* flops = BestKnown(record).flops;
  return flops == nullptr ? std::nullopt : TotalFlops({.flops = *flops});
}

std::vector<Suite> SuitesOf(const nlohmann::json& context) {
  std::vector<Suite> suites;
  const auto& described = record::Member(record::Member(context, "dlroof"), "suites");
  if (!described.is_array()) return suites;
  for (const auto& suite : described) {
    auto& layers = suites.emplace_back(Suite{record::Text(suite, "name"), {}}).layers;
    const auto& entries = record::Member(suite, "layers");
    if (!entries.is_array()) continue;
    for (const auto& entry : entries) {
      const auto& count = record::Member(entry, "count");
      SuiteLayer layer{record::Text(entry, "name"), count.is_number() ? count.get<double>() : 1};
      if (!layer.name.empty() && layer.count >= 1) layers.push_back(std::move(layer));
    }
  }
  return suites;
}

std::map<std::string, double> Occurrences(const nlohmann::json& context) {
  std::map<std::string, double> occurrences;
  for (const auto& suite : SuitesOf(context))
    for (const auto& layer : suite.layers) occurrences[layer.name] += layer.count;
  return occurrences;
}

std::vector<Opportunity> Opportunities(const PlacedRun& run, std::size_t most) {
  const auto occurrences = Occurrences(run.file.context);
  std::vector<Opportunity> found;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const auto& [timing, placement, breakdown] = run.places[i];
    const double count = FindCopy(occurrences, run.file.records[i].name).value_or(1);
    if (timing && placement.time) AddOpportunity(i, count, timing->median, *placement.time, found);
  }
  KeepLargest(most, found);
  return found;
}

std::vector<ModelSummary> SummarizeModels(const record::RunFile& file) {
  std::vector<ModelSummary> models;
  IndexByName records;
  for (std::size_t i = 0; i < file.records.size(); ++i) records[file.records[i].name] = i;
  for (const auto& suite : SuitesOf(file.context))
    for (const auto& group : GroupsOf(suite.layers))
      if (auto model = Summary(suite.name, group, file, records))
        models.push_back(std::move(*model));
  return models;
}

std::vector<ZeroFlopSummary> CountZeroFlopKernels(const std::vector<record::Record>& records) {
  text::InOrder<ZeroFlopSummary> sets;
  for (const record::Record& record : records) {
    const auto known = BestKnown(record);
    const auto timing =
        record.status == record::Status::kOk ? record::Summarize(record.repetitions) : std::nullopt;
    if (known.flops == nullptr || !timing) continue;
    const auto slash = record.name.find('/');
    const auto set = slash == std::string::npos ? "" : record.name.substr(0, slash);
    sets[set].set = set;
    Add(record.work.at(known.flops_from), timing->median, sets[set]);
  }
  std::erase_if(sets.all, [](const auto& set) { return set.second.zero_flop_kernels == 0; });
  return VectorOf<ZeroFlopSummary>(sets.all, &std::pair<std::string, ZeroFlopSummary>::second);
}

std::vector<HeuristicSummary> SummarizeHeuristics(const std::vector<record::Record>& records) {
  text::InOrder<std::vector<const record::Record*>> by_library;
  for (const record::Record& record : records)
    if (record.heuristic_over_best && record.status == record::Status::kOk)
      by_library[record.library].push_back(&record);
  return VectorOf<HeuristicSummary>(by_library.all, [](const auto& group) {
    const auto ratio = [](const record::Record* record) { return *record->heuristic_over_best; };
    const auto ratios = VectorOf<double>(group.second, ratio);
    const auto* worst = *std::ranges::max_element(group.second, {}, ratio);
    return HeuristicSummary{.library = group.first,
                            .benchmarks = static_cast<int>(ratios.size()),
                            .slower = static_cast<int>(std::ranges::count_if(
                                ratios, [](const double each) { return each > kHeuristicLoss; })),
                            .median = Median(ratios),
                            .most = ratio(worst),
                            .worst = worst->name};
  });
}

std::string HeuristicText(const HeuristicSummary& summary) {
  const auto worst = fmt::format("{:.2f}x", summary.most);
  std::string text = fmt::format("the heuristic of {} loses ", summary.library);
  if (summary.slower == 0)
    text += fmt::format("at most {} on {} ({})", worst, summary.benchmarks, summary.worst);
  else if (summary.slower == 1)
    text += fmt::format("{} on one of {} ({})", worst, summary.benchmarks, summary.worst);
  else
    text += fmt::format("more than {:g}x on {} of {}, {} at most ({})", kHeuristicLoss,
                        summary.slower, summary.benchmarks, worst, summary.worst);
  return text + fmt::format(", {:.2f}x in the median", summary.median);
}

}  // namespace dlroof::roofline
