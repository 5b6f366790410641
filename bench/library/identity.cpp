#include "bench/library/identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <vector>

namespace dlroof::library {
namespace {

// Google Benchmark does not tell the number of arguments: State::range(i) must not be called beyond
// them. An explicit instantiation may name a private member ([temp.spec] 6).
using Ranges = std::vector<std::int64_t> benchmark::State::*;
template <Ranges kMember>
struct Opened {
  friend Ranges RangesMember() { return kMember; }
};
Ranges RangesMember();
template struct Opened<&benchmark::State::range_>;

// Returns the name without arguments and settings; empty before Google Benchmark 1.8.
template <class AnyState>
std::string FunctionIn(const AnyState& state) {
  if constexpr (requires { state.name(); })
    return std::string(state.name());
  else
    return {};
}

}  // namespace

std::string PlaceOf(const benchmark::State& state, const void* site) {
  return fmt::format("{} {}/{}/threads:{}", site, FunctionIn(state),
                     fmt::join(state.*RangesMember(), "/"), state.threads());
}

void ListedBenchmarks::MarkEnded(const benchmark::BenchmarkReporter::Run& run) {
  ended_.emplace(run.family_index, run.per_family_instance_index);
}

std::optional<std::string> ListedBenchmarks::Running() const {
  if (ended_.size() >= names_.size()) return std::nullopt;
  return names_[ended_.size()];
}

void ListedBenchmarks::Learn(const std::string& place) {
  if (const auto name = Running()) places_[place].insert(*name);
}

std::optional<std::string> ListedBenchmarks::At(const std::string& place) const {
  const auto found = places_.find(place);
  if (found == places_.end() || found->second.size() != 1) return std::nullopt;
  return *found->second.begin();
}

std::optional<Reason> ListedBenchmarks::Ambiguous(const std::string& place) const {
  const auto found = places_.find(place);
  if (found == places_.end() || found->second.size() < 2) return std::nullopt;
  return Reason{fmt::format(
      "{} cannot be told apart in random order, because they have the same function, arguments and "
      "threads: leave out --benchmark_enable_random_interleaving, or give them different arguments",
      fmt::join(found->second, " and "))};
}

}  // namespace dlroof::library
