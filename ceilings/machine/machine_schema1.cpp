#include "ceilings/machine/machine_schema1.h"

#include <charconv>
#include <string_view>

namespace dlroof::machine {
namespace {

constexpr std::size_t kLongestMix = 24;

// "<row>.threads.<N>" in two.
struct SplitKey {
  std::string row;
  int threads = 0;
};
SplitKey Split(std::string_view key, std::string_view before) {
  const auto at = key.rfind(before);
  if (at == std::string_view::npos) return {};
  const auto number = key.substr(at + before.size());
  SplitKey split{std::string(key.substr(0, at)), 0};
  const auto end = number.data() + number.size();
  if (std::from_chars(number.data(), end, split.threads).ptr != end) split.threads = 0;
  return split;
}

bool TakePrefix(std::string& text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return false;
  text.erase(0, prefix.size());
  return true;
}

// Returns false for a fact that belongs to no set.
bool MoveFact(const std::string& key, const std::string& text, Machine& machine) {
  const auto set_of = [&](int threads) {
    const auto found = machine.by_threads.find(threads);
    return found == machine.by_threads.end() ? nullptr : &found->second;
  };
  if (auto row = key; TakePrefix(row, "sustained.")) {
    machine.by_threads.rbegin()->second.sustained[row] = text;
    return true;
  }
  if (const auto effort = Split(key, "effort."); effort.row.empty() && effort.threads > 0)
    if (auto* set = set_of(effort.threads)) {
      set->effort = text;
      return true;
    }
  auto [row, threads] = Split(key, ".threads.");
  auto* set = threads > 0 ? set_of(threads) : nullptr;
  if (set == nullptr || row.empty()) return false;
  if (TakePrefix(row, "absent."))
    set->absent[row] = text;
  else if (TakePrefix(row, "sweep."))
    set->edges[row] = {text, text.ends_with(" disagree")};
  else
    set->costs_how[row] = text;
  return true;
}

void ConvertCeiling(Ceiling& ceiling) {
  if (ceiling.proof.scaling) ceiling.how = ceiling.how.substr(0, ceiling.how.find("; each of "));
}

// `how` began "copy.avx2, the best of 19 mixes: ".
void ConvertRoof(Ceiling& roof) {
  ConvertCeiling(roof);
  const auto mix = roof.how.substr(0, roof.how.find(','));
  if (mix.size() <= kLongestMix && mix.size() < roof.how.size()) roof.mix = mix;
}

}  // namespace

std::vector<std::string> Schema1Reasons(const std::string& text) {
  constexpr std::string_view kBetween = "; ";
  std::vector<std::string> reasons;
  if (text.empty()) return reasons;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + kBetween.size()) {
    end = text.find(kBetween, begin);
    reasons.push_back(text.substr(begin, end - begin));
  }
  return reasons;
}

void ConvertSchema1(Machine& machine) {
  for (auto fact = machine.facts.begin(); fact != machine.facts.end();)
    fact = MoveFact(fact->first, fact->second, machine) ? machine.facts.erase(fact) : ++fact;
  for (auto& [threads, set] : machine.by_threads) {
    for (auto* rows : {&set.flops, &set.mixes})
      for (auto& [key, ceiling] : *rows) ConvertCeiling(ceiling);
    for (auto& [level, roof] : set.bytes) ConvertRoof(roof);
  }
}

}  // namespace dlroof::machine
