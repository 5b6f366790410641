#include "baselines/compare/paired_record.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <future>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "counters/base/error.h"

namespace dlroof {
namespace {

// The records of a run by name: places in one table, for with a node each most of the time is
// spent on finding memory.
class NameIndex {
 public:
  // Throws BadInput: a name that stands there twice.
  explicit NameIndex(const NamedRun& run)
      : records_(run.file.records), slots_(std::bit_ceil(2 * records_.size() + 1)) {
    hashes_.reserve(records_.size());
    for (const auto& record : records_) {
      const auto hash = std::hash<std::string_view>()(record.name);
      auto& slot = slots_[SlotOf(record.name, hash)];
      if (slot.place != 0)
        throw BadInput(fmt::format("{}: '{}' stands there twice: which of the two is meant?",
                                   run.where, record.name));
      hashes_.push_back(hash);
      slot = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hashes_.size())};
    }
  }

  std::size_t hash(std::size_t record) const { return hashes_[record]; }
  // Null: no record has that name, whose std::hash is `hash`.
  const Record* Find(std::string_view name, std::size_t hash) const {
    const auto place = slots_[SlotOf(name, hash)].place;
    return place == 0 ? nullptr : &records_[place - 1];
  }
  const Record* Find(std::string_view name) const {
    return Find(name, std::hash<std::string_view>()(name));
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;   // its lower bits; where the slot is tells of others
    std::uint32_t place = 0;  // of the record, from 1 on; 0: empty
  };

  // Of the name, or the empty one where it would go.
  std::size_t SlotOf(std::string_view name, std::size_t hash) const {
    for (std::size_t at = hash >> 16;; ++at) {
      const auto& slot = slots_[at &= slots_.size() - 1];
      if (slot.place == 0 ||
          (slot.hash == static_cast<std::uint32_t>(hash) && records_[slot.place - 1].name == name))
        return at;
    }
  }

  const std::vector<Record>& records_;
  std::vector<Slot> slots_;          // a power of two, at most half of them taken
  std::vector<std::size_t> hashes_;  // of the records
};

// Of BASE and NEW; large ones at the same time.
std::pair<NameIndex, NameIndex> BothIndices(const NamedRun& base, const NamedRun& fresh) {
  constexpr std::size_t kLarge = 5000;  // smaller ones are read before a thread has started
  const auto policy =
      fresh.file.records.size() < kLarge ? std::launch::deferred : std::launch::async;
  auto freshes = std::async(policy, [&] { return NameIndex(fresh); });
  NameIndex bases(base);
  return {std::move(bases), freshes.get()};
}

}  // namespace

void CheckNames(const NamedRun& run) { NameIndex{run}; }

NameMap NamesIn(const NamedRun& base, const NameMap& names) {
  NameMap found;
  if (names.empty()) return found;
  for (const auto& record : base.file.records)
    if (const auto mapped = names.find(record.name); mapped != names.end()) found.insert(*mapped);
  return found;
}

std::vector<PairedRecord> PairRecords(const NamedRun& base, const NamedRun& fresh,
                                      const NameMap& names) {
  const auto [bases, freshes] = BothIndices(base, fresh);
  std::unordered_map<std::string_view, const Record*> renamed;  // BASE's, by NEW's names
  for (const auto& [base_name, fresh_name] : names) {
    const auto* from = bases.Find(base_name);
    if (from == nullptr)
      throw BadInput(fmt::format("{}: has no benchmark '{}', which the name map asks for",
                                 base.where, base_name));
    if (freshes.Find(fresh_name) == nullptr)
      throw BadInput(fmt::format("{}: has no benchmark '{}', which the name map asks for",
                                 fresh.where, fresh_name));
    renamed.insert_or_assign(fresh_name, from);
  }
  // A base record that has another name in NEW is none of its own name's.
  const auto partner = [&, &base_of = bases, &hashes = freshes](const Record& record,
                                                                std::size_t i) -> const Record* {
    if (!names.empty()) {
      if (const auto found = renamed.find(record.name); found != renamed.end())
        return found->second;
      if (names.count(record.name) > 0) return nullptr;
    }
    return base_of.Find(record.name, hashes.hash(i));
  };
  std::vector<PairedRecord> pairs;
  pairs.reserve(fresh.file.records.size());
  for (std::size_t i = 0; i < fresh.file.records.size(); ++i)
    pairs.push_back({partner(fresh.file.records[i], i), &fresh.file.records[i]});
  // What is left has no partner; a base record that gave its name away to a mapped one, neither.
  std::vector<bool> paired(base.file.records.size(), false);
  for (const auto& pair : pairs)
    if (pair.base != nullptr) paired[pair.base - base.file.records.data()] = true;
  for (std::size_t i = 0; i < paired.size(); ++i)
    if (!paired[i]) pairs.push_back({&base.file.records[i], nullptr});
  return pairs;
}

}  // namespace dlroof
