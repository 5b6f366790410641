#include "bench/tune/team_choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace dlroof::tune {
namespace {

// A way to choose CPUs: sorted by what these return, the first ones are taken.
struct Places {
  const char* reason;
  std::vector<int> cpus;  // in the order in which they are taken
};

int Of(const std::map<int, int>& ids, int cpu) {
  const auto found = ids.find(cpu);
  return found == ids.end() ? 0 : found->second;
}

int CacheOf(const cpu::Topology& topology, int cpu) {
  const auto level = topology.cache_of_cpu.find(Level::kL3);
  if (level == topology.cache_of_cpu.end()) return 0;
  const auto found = level->second.find(cpu);
  return found == level->second.end() ? 0 : found->second.id;
}

// Turn of each CPU among those of its core: 0 for the first hardware thread.
std::map<int, int> TurnsInCores(const cpu::Cpu& cpu) {
  std::map<int, int> turns, seen;
  for (const int one : cpu.allowed) {
    const auto core = cpu.topology.core_of_cpu.find(one);
    turns[one] = core == cpu.topology.core_of_cpu.end() ? 0 : seen[core->second]++;
  }
  return turns;
}

template <class Key>
std::vector<int> SortedBy(std::vector<int> cpus, const Key& key) {
  std::ranges::stable_sort(cpus, {}, key);
  return cpus;
}

std::vector<Places> PlacesOf(const cpu::Cpu& cpu) {
  const auto& topology = cpu.topology;
  const auto turns = TurnsInCores(cpu);
  std::map<int, int> rank, seen;  // turn of a CPU among the first hardware threads of its L3
  for (const int one : cpu.allowed)
    if (turns.at(one) == 0) rank[one] = seen[CacheOf(topology, one)]++;
  const auto near = [&](int one) {
    return std::tuple(Of(topology.node_of_cpu, one), CacheOf(topology, one), turns.at(one), one);
  };
  const auto apart = [&](int one) { return std::tuple(turns.at(one), Of(rank, one), one); };
  const auto packed = [&](int one) {
    return std::tuple(Of(topology.node_of_cpu, one), CacheOf(topology, one),
                      Of(topology.core_of_cpu, one), one);
  };
  return {{"threads near each other, on one L3", SortedBy(cpu.allowed, near)},
          {"threads apart, with more L3 and bandwidth", SortedBy(cpu.allowed, apart)},
          {"two threads per core, which share its L1 and L2", SortedBy(cpu.allowed, packed)}};
}

// Numbers of threads: 1, 2, 4, ..., a thread per core, all.
std::set<int> Counts(const cpu::Cpu& cpu, int fixed) {
  if (fixed > 0) return {fixed};
  const int all = static_cast<int>(cpu.allowed.size());
  std::set<int> counts = {all};
  for (int count = 1; count < all; count *= 2) counts.insert(count);
  if (const int cores = cpu::UsableCores(cpu); cores > 0 && cores < all) counts.insert(cores);
  return counts;
}

std::set<int> FirstOf(const std::vector<int>& cpus, int count) {
  return {cpus.begin(), cpus.begin() + count};
}

std::vector<tuning::Choice> Waits() {
  return {{{{"OMP_WAIT_POLICY", "active"}}, "threads spin until they have work"},
          {{{"OMP_WAIT_POLICY", "passive"}}, "threads sleep until they have work"},
          {{{"GOMP_SPINCOUNT", "10000"}}, "threads spin shortly, then sleep"}};
}

std::vector<tuning::Choice> ChoicesOf(const cpu::Cpu& cpu, int count, bool is_default, bool pin) {
  tuning::Choice plain{{}, fmt::format("{} thread{}", count, count == 1 ? "" : "s")};
  if (count == 1) plain.reason = "no fork, no join, no waiting";
  if (!is_default) plain.values["threads"] = std::to_string(count);
  std::vector<tuning::Choice> choices = {plain};
  if (!pin || count == 1) return choices;
  const auto spread = cpu::SpreadCpus(cpu, count);
  std::set<std::set<int>> known = {{spread.begin(), spread.end()}};
  for (const auto& places : PlacesOf(cpu)) {
    const auto cpus = FirstOf(places.cpus, count);
    if (!known.insert(cpus).second) continue;
    auto pinned = plain;
    pinned.values["cpus"] = fmt::format("{}", fmt::join(cpus, ","));
    pinned.reason += ": ";
    pinned.reason += places.reason;
    choices.push_back(std::move(pinned));
  }
  return choices;
}

}  // namespace

std::vector<tuning::Choice> TeamChoices(const cpu::Cpu& cpu, int fixed, bool pin, bool wait) {
  std::vector<tuning::Choice> all;
  const int most = static_cast<int>(cpu.allowed.size());
  if (fixed > most) return all;
  for (const int count : Counts(cpu, fixed)) {
    const bool is_default = fixed > 0 || count == most;
    for (const auto& choice : ChoicesOf(cpu, count, is_default, pin)) {
      if (!choice.values.empty()) all.push_back(choice);
      if (!wait || count == 1) continue;
      for (const auto& waiting : Waits()) {
        tuning::Choice both{choice.values,
                    choice.values.empty() ? waiting.reason : choice.reason + "; " + waiting.reason};
        both.values.insert(waiting.values.begin(), waiting.values.end());
        all.push_back(std::move(both));
      }
    }
  }
  return all;
}

}  // namespace dlroof::tune
