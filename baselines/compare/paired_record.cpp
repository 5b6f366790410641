#include "baselines/compare/paired_record.h"

#include <functional>
#include <future>
#include <string_view>
#include <unordered_map>

#include "counters/base/error.h"

namespace dlroof {
namespace {

using Index = std::unordered_map<std::string_view, const Record*>;

// Returns the records of a run by name. Throws BadInput if two share a name.
Index IndexOf(const NamedRun& run) {
  Index records;
  records.reserve(run.file.records.size());
  for (const auto& record : run.file.records)
    if (!records.try_emplace(record.name, &record).second)
      throw BadInput("{}: '{}' stands there twice: which of the two is meant?", run.where,
                     record.name);
  return records;
}

// Returns null where no record has that name.
const Record* Find(const Index& records, std::string_view name) {
  const auto found = records.find(name);
  return found == records.end() ? nullptr : found->second;
}

}  // namespace

void CheckNames(const NamedRun& run) { IndexOf(run); }

NameMap NamesIn(const NamedRun& base, const NameMap& names) {
  NameMap found;
  if (names.empty()) return found;
  for (const auto& record : base.file.records)
    if (const auto mapped = names.find(record.name); mapped != names.end()) found.insert(*mapped);
  return found;
}

std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& fresh,
                                      const NameMap& names) {
  auto at_once = std::async(std::launch::async, IndexOf, std::cref(base));
  const Index freshes = IndexOf(fresh), bases = at_once.get();
  Index renamed;  // BASE's, by NEW's names
  for (const auto& [base_name, fresh_name] : names) {
    const auto* from = Find(bases, base_name);
    if (from == nullptr)
      throw BadInput("{}: has no benchmark '{}', which the name map asks for", base.where,
                     base_name);
    if (Find(freshes, fresh_name) == nullptr)
      throw BadInput("{}: has no benchmark '{}', which the name map asks for", fresh.where,
                     fresh_name);
    renamed.insert_or_assign(fresh_name, from);
  }
  // A base record that has another name in NEW is none of its own name's.
  const auto partner = [&](const Record& record) -> const Record* {
    if (!names.empty()) {
      if (const auto found = renamed.find(record.name); found != renamed.end())
        return found->second;
      if (names.count(record.name) > 0) return nullptr;
    }
    return Find(bases, record.name);
  };
  std::vector<PairedRecord> pairs;
  pairs.reserve(fresh.file.records.size());
  for (const auto& record : fresh.file.records) pairs.push_back({partner(record), &record});
  // The rest has no partner, like a base record that gave its name away to a mapped one.
  std::vector<bool> paired(base.file.records.size(), false);
  for (const auto& pair : pairs)
    if (pair.base != nullptr) paired[pair.base - base.file.records.data()] = true;
  for (std::size_t i = 0; i < paired.size(); ++i)
    if (!paired[i]) pairs.push_back({&base.file.records[i], nullptr});
  return pairs;
}

}  // namespace dlroof
