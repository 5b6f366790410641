#include "reporters/roofline/sweep_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "counters/base/error.h"
#include "reporters/text/text.h"

namespace dlroof::roofline {
namespace {

constexpr double kAbsent = 1;  // value of a key that a problem's text leaves out

using Parts = std::map<std::string, std::string, std::less<>>;

Parts PartsOf(std::string_view problem) {
  Parts parts;
  for (auto& part : ProblemParts(problem)) parts[part.key] = std::move(part.value);
  return parts;
}

std::optional<double> ValueOf(const Parts& parts, const SweepWord& word) {
  const auto found = parts.find(word.key);
  if (found == parts.end()) return kAbsent;
  double value = 0;
  const auto& text = found->second;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value)
                                                                   : std::nullopt;
}

// Returns a text that records which differ in `parts` and threads alone share.
std::string GroupOf(const record::Record& record, const Parts& parts,
                    const std::vector<std::string>& options, const std::string& threads) {
  std::string group;
  for (const auto* text : {&record.op, &record.device, &record.library, &record.direction,
                           &record.type, &record.cache})
    group.append(*text).append(1, '\n');
  group += fmt::format("{}\n{}\n", fmt::join(options, "/"), threads);
  for (const auto& [key, value] : parts) group += fmt::format("{}={} ", key, value);
  return group;
}

// Returns a text that the records of a line share. `strict` keeps the padding that follows.
std::string GroupOf(const record::Record& record, Parts parts, const SweepWord& word, bool strict) {
  parts.erase(word.key);
  for (const auto& key : Followers(word))
    if (!strict || key != "_p") parts.erase(key);
  return GroupOf(record, parts, record.options, std::to_string(record.threads));
}

std::vector<std::string> WithoutThreads(std::vector<std::string> options) {
  std::erase_if(options, [](const auto& option) { return option.starts_with("threads"); });
  return options;
}

std::string SeriesOf(const record::Record& record) {
  return fmt::format("{} {} {}", record.library, record.direction, record.type);
}

struct Candidate {
  std::size_t record;
  double value;
  std::string loose, strict;  // groups
};

std::vector<Candidate> Candidates(const PlacedRun& run, const SweepParameter& parameter) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const record::Record& record = run.file.records[i];
    if (record.problem.empty() || !run.places[i].placement.time) continue;
    if (std::ranges::count(parameter.ops, record.op) == 0) continue;
    const auto parts = PartsOf(record.problem);
    const auto value = ValueOf(parts, parameter.word);
    if (value)
      candidates.push_back({i, *value, GroupOf(record, parts, parameter.word, false),
                            GroupOf(record, parts, parameter.word, true)});
  }
  return candidates;
}

// Null: the record's op has no batch.
const SweepWord* BatchWord(const record::Record& record, const OpVocabulary& words) {
  const auto op = words.find(record.op);
  if (op == words.end()) return nullptr;
  const auto& sweep = op->second.sweep;
  const auto found = std::ranges::find(sweep, "batch", &SweepWord::name);
  return found == sweep.end() ? nullptr : &*found;
}

std::vector<SweepLine> LinesOf(const PlacedRun& run, const std::vector<Candidate>& candidates,
                               std::size_t least) {
  std::map<std::string, std::multiset<double>> values;
  for (const auto& one : candidates) values[one.loose].insert(one.value);
  std::vector<std::vector<const Candidate*>> groups;
  std::map<std::string, std::size_t> found;
  for (const auto& one : candidates) {
    const auto& of_group = values.at(one.loose);
    const bool twice = std::adjacent_find(of_group.begin(), of_group.end()) != of_group.end();
    const auto [known, added] =
        found.try_emplace(twice ? one.loose + "\n" + one.strict : one.loose, groups.size());
    if (added) groups.emplace_back();
    groups[known->second].push_back(&one);
  }
  std::vector<SweepLine> lines;
  for (auto& group : groups) {
    std::ranges::stable_sort(group,
                             [](const auto* a, const auto* b) { return a->value < b->value; });
    SweepLine line;
    for (const auto* one : group) {
      if (!line.values.empty() && line.values.back() == one->value) continue;
      line.records.push_back(one->record);
      line.values.push_back(one->value);
    }
    if (line.records.size() < least) continue;
    line.series = SeriesOf(run.file.records[line.records.front()]);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

std::vector<SweepLine> SweepLines(const PlacedRun& run, const SweepParameter& parameter,
                                  std::size_t least) {
  return LinesOf(run, Candidates(run, parameter), least);
}

std::vector<SweepLine> ThreadLines(const PlacedRun& run, std::size_t least) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const record::Record& record = run.file.records[i];
    if (record.problem.empty() || record.threads < 1 || !run.places[i].timing) continue;
    const auto group = GroupOf(record, PartsOf(record.problem), WithoutThreads(record.options), "");
    candidates.push_back({i, static_cast<double>(record.threads), group, group});
  }
  return LinesOf(run, candidates, least);
}

std::optional<double> BatchPerThread(const record::Record& record, const OpVocabulary& words) {
  const auto* word = BatchWord(record, words);
  if (word == nullptr || record.threads < 1) return std::nullopt;
  const auto batch = ValueOf(PartsOf(record.problem), *word);
  return batch ? std::optional(*batch / record.threads) : std::nullopt;
}

std::vector<SweepLine> WeakLines(const PlacedRun& run, std::size_t least) {
  const auto words = WordsOf(run.file.context);
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < run.places.size(); ++i) {
    const record::Record& record = run.file.records[i];
    const auto share = BatchPerThread(record, words);
    if (record.problem.empty() || !share || !run.places[i].timing) continue;
    auto parts = PartsOf(record.problem);
    parts.erase(BatchWord(record, words)->key);
    const auto group = GroupOf(record, parts, WithoutThreads(record.options), "") +
                       fmt::format("\n{} per thread", *share);
    candidates.push_back({i, static_cast<double>(record.threads), group, group});
  }
  return LinesOf(run, candidates, least);
}

std::vector<SweepLine> SweepLines(const PlacedRun& run, std::string_view name, std::size_t least) {
  const auto words = WordsOf(run.file.context);
  const auto names = SweepNames(words);
  if (std::ranges::count(names, name) == 0)
    throw BadInput("--sweep {}: no such parameter; there are {}", text::Printable(name),
                   fmt::join(names, ", "));
  std::vector<SweepLine> lines;
  for (const auto& parameter : SweepParameters(words))
    if (parameter.word.name == name)
      for (auto& line : SweepLines(run, parameter, least)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace dlroof::roofline
