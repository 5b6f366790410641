#include "baselines/paired_record.h"

#include <fmt/format.h>

#include <future>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "counters/error.h"

namespace dlroof {
namespace {

using Index = std::unordered_map<std::string_view, const Record*>;

Index IndexByName(const NamedRun& run) {
  Index index;
  index.reserve(run.file.records.size());
  for (const auto& record : run.file.records)
    if (!index.emplace(record.name, &record).second)
      throw BadInput(fmt::format("{}: '{}' stands there twice: which of the two is meant?",
                                 run.where, record.name));
  return index;
}

// Of BASE and NEW; large ones at the same time.
std::pair<Index, Index> BothIndices(const NamedRun& base, const NamedRun& fresh) {
  constexpr std::size_t kLarge = 5000;  // smaller ones are read before a thread has started
  const auto policy =
      fresh.file.records.size() < kLarge ? std::launch::deferred : std::launch::async;
  auto freshes = std::async(policy, [&] { return IndexByName(fresh); });
  auto bases = IndexByName(base);
  return {std::move(bases), freshes.get()};
}

}  // namespace

void CheckNames(const NamedRun& run) { IndexByName(run); }

NameMap NamesIn(const NamedRun& base, const NameMap& names) {
  NameMap found;
  if (names.empty()) return found;
  for (const auto& record : base.file.records)
    if (const auto mapped = names.find(record.name); mapped != names.end()) found.insert(*mapped);
  return found;
}

std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& fresh,
                                      const NameMap& names) {
  auto [base_of, freshes] = BothIndices(base, fresh);  // BASE's will go by NEW's names
  Index renamed;
  for (const auto& [base_name, fresh_name] : names) {
    const auto from = base_of.find(base_name);
    if (from == base_of.end())
      throw BadInput(fmt::format("{}: has no benchmark '{}', which the name map asks for",
                                 base.where, base_name));
    if (freshes.find(fresh_name) == freshes.end())
      throw BadInput(fmt::format("{}: has no benchmark '{}', which the name map asks for",
                                 fresh.where, fresh_name));
    renamed.insert_or_assign(fresh_name, from->second);
  }
  for (const auto& [base_name, fresh_name] : names) base_of.erase(base_name);
  for (const auto& [fresh_name, record] : renamed) base_of.insert_or_assign(fresh_name, record);
  std::vector<PairedRecord> pairs;
  pairs.reserve(fresh.file.records.size());
  for (const auto& record : fresh.file.records) {
    const auto found = base_of.find(record.name);
    pairs.push_back({found == base_of.end() ? nullptr : found->second, &record});
  }
  // What is left has no partner; a base record that gave its name away to a mapped one, neither.
  std::vector<bool> paired(base.file.records.size(), false);
  for (const auto& pair : pairs)
    if (pair.base != nullptr) paired[pair.base - base.file.records.data()] = true;
  for (std::size_t i = 0; i < paired.size(); ++i)
    if (!paired[i]) pairs.push_back({&base.file.records[i], nullptr});
  return pairs;
}

}  // namespace dlroof
