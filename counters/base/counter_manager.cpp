#include "counters/base/counter_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "counters/base/keys.h"
#include "counters/base/parallel_time.h"

namespace dlroof {
namespace {

std::vector<CounterSource>& Registry() {
  static std::vector<CounterSource> sources;
  return sources;
}

bool IsSelected(std::string_view choice, const CounterSource& source) {
  if (choice == kNoCounters) return false;
  if (source.provenance == Provenance::kModelled) return true;
  if (choice == kAutoCounters) return source.provenance == Provenance::kMeasured;
  return SourceName(choice) == source.name;
}

std::optional<Reason> UnavailableReason(const CounterSource& source) {
  return source.unavailable ? source.unavailable() : std::nullopt;
}

template <class Map>
void DropInvalid(Map& counts) {
  std::erase_if(counts,
                [](const auto& item) { return !std::isfinite(item.second) || item.second < 0; });
}

// Copies quantities from `more` to `known` that `known`, which has the better sources, lacks.
void Merge(const Work& more, Work& known) {
  if (known.flops.empty()) known.flops = more.flops;
  known.bytes.insert(more.bytes.begin(), more.bytes.end());
  if (!known.launches) known.launches = more.launches;
  if (known.parts.empty()) known.parts = more.parts;
}

void Ask(const CounterSource& source, const CountRequest& request, Counting& counting) {
  Counted counted;
  try {
    counted = source.count(request);
  } catch (const std::exception& error) {
    counting.notes.push_back({source.name, {}, fmt::format("failed: {}", error.what())});
    return;
  }
  DropInvalid(counted.work.flops);
  DropInvalid(counted.work.bytes);
  auto& flops = counted.work.flops;
  const auto* const lost =
      FindIf(request.pipes, [&](const auto& pipe) { return !flops.contains(pipe); });
  if (lost != nullptr && !flops.empty()) {
    counted.caveats.push_back(
        fmt::format("its FLOPs were dropped as incomplete: it cannot count {}", *lost));
    flops.clear();
  }
  if (!counted.how.empty()) counting.notes.push_back({source.name, source.provenance, counted.how});
  for (const auto& caveat : counted.caveats) counting.notes.push_back({source.name, {}, caveat});
  if (counting.kernels.empty()) counting.kernels = std::move(counted.kernels);
  Merge(counted.work, counting.work[source.provenance]);
}

// The source "model": returns the work by CountRequest::model. Needs no hardware.
Counted Model(const CountRequest& request) {
  Counted counted;
  if (request.model) counted.work = request.model(counted.how);
  return counted;
}

[[maybe_unused]] const bool model_source_registered =
    RegisterCounterSource({"model", "cpu", Provenance::kModelled, {}, Model}) &&
    RegisterCounterSource({"model", "gpu", Provenance::kModelled, {}, Model});

}  // namespace

std::string_view SourceName(std::string_view choice) {
  if (choice.ends_with(kEverythingSuffix)) choice.remove_suffix(kEverythingSuffix.size());
  return choice;
}

bool RegisterCounterSource(CounterSource source) {
  for (CounterSource& known : Registry())
    if (known.name == source.name && known.device == source.device) {
      if (!known.count) known = std::move(source);
      return true;
    }
  Registry().push_back(std::move(source));
  return true;
}

const std::vector<CounterSource>& AllCounterSources() { return Registry(); }

std::vector<std::string> CounterChoices(const std::vector<CounterSource>& sources) {
  std::vector<std::string> choices{std::string(kAutoCounters)};
  for (const CounterSource& source : sources) {
    choices.push_back(source.name);
    if (source.counts_everything) choices.push_back(source.name + std::string(kEverythingSuffix));
  }
  choices.emplace_back(kNoCounters);
  std::sort(choices.begin() + 1, choices.end() - 1);
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  return choices;
}

Counting CountCall(std::string_view choice, std::string_view device, const CountRequest& request,
                   const std::vector<CounterSource>& sources) {
  Counting counting;
  CountRequest asked = request;
  asked.everything = request.everything || choice.ends_with(kEverythingSuffix);
  for (const Provenance from : AllProvenances())
    for (const CounterSource& source : sources) {
      if (source.provenance != from || source.device != device || !IsSelected(choice, source))
        continue;
      const auto reason = UnavailableReason(source);
      if (!reason)
        Ask(source, asked, counting);
      else if (SourceName(choice) == source.name)
        counting.notes.push_back({source.name, {}, reason->text});
    }
  std::erase_if(counting.work, [](const auto& item) { return item.second == Work{}; });
  return counting;
}

std::optional<Reason> UnavailableReason(std::string_view choice, std::string_view device,
                                        const std::vector<CounterSource>& sources) {
  if (choice == kAutoCounters || choice == kNoCounters) return std::nullopt;
  for (const CounterSource& source : sources)
    if (SourceName(choice) == source.name && source.device == device)
      return UnavailableReason(source);
  return Reason{fmt::format("this build has no counter source {} for the {}", choice, device)};
}

std::map<std::string, Reason> UnavailableSources(std::string_view choice, std::string_view device,
                                                 const std::vector<CounterSource>& sources) {
  std::map<std::string, Reason> reasons;
  for (const CounterSource& source : sources) {
    if (source.device != device || !IsSelected(choice, source)) continue;
    if (auto reason = UnavailableReason(source)) reasons[source.name] = std::move(*reason);
  }
  return reasons;
}

std::optional<RegionSource>& TheRegionSource() {
  static std::optional<RegionSource> source;
  return source;
}

}  // namespace dlroof
