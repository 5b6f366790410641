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

namespace dlroof {
namespace {

constexpr double kAbsent = 1;  // value of a key that a problem's text leaves out

using Parts = std::map<std::string, std::string, std::less<>>;

bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

// "n16c64_s2p0:1x0:1" -> n 16, c 64, _s 2, _p 0:1x0:1; an `x` after a digit belongs to the value.
Parts PartsOf(std::string_view problem) {
  Parts parts;
  std::string_view prefix;
  for (std::size_t at = 0; at < problem.size();) {
    if (problem[at] == '_') {
      prefix = "_";
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < problem.size() && IsLetter(problem[end])) ++end;
    if (end == at) end = at + 1;
    const auto key = std::string(prefix).append(problem.substr(at, end - at));
    at = end;
    while (end < problem.size() && problem[end] != '_' &&
           (!IsLetter(problem[end]) || (problem[end] == 'x' && end > at)))
      ++end;
    parts[key] = problem.substr(at, end - at);
    at = end;
  }
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

// Returns a text that the records of a line share. `strict` keeps the padding that follows.
std::string GroupOf(const Record& record, Parts parts, const SweepWord& word, bool strict) {
  parts.erase(word.key);
  for (std::string_view rest = word.follow; !rest.empty();) {
    const auto blank = std::min(rest.find(' '), rest.size());
    const auto key = rest.substr(0, blank);
    if (!strict || key != "_p") parts.erase(std::string(key));
    rest.remove_prefix(std::min(blank + 1, rest.size()));
  }
  std::string group;
  for (const auto* text : {&record.op, &record.device, &record.library, &record.direction,
                           &record.type, &record.cache})
    group.append(*text).append(1, '\n');
  group += fmt::format("{}\n{}\n", fmt::join(record.options, "/"), record.threads);
  for (const auto& [key, value] : parts) group += fmt::format("{}={} ", key, value);
  return group;
}

std::string SeriesOf(const Record& record) {
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
    const Record& record = run.file.records[i];
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

}  // namespace

std::vector<SweepLine> SweepLines(const PlacedRun& run, const SweepParameter& parameter) {
  auto candidates = Candidates(run, parameter);
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
    if (line.records.size() < 2) continue;
    line.series = SeriesOf(run.file.records[line.records.front()]);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<SweepLine> SweepLines(const PlacedRun& run, std::string_view name) {
  const auto words = WordsOf(run.file.context);
  const auto names = SweepNames(words);
  if (std::ranges::count(names, name) == 0)
    throw BadInput("--sweep {}: no such parameter; there are {}", Printable(name),
                   fmt::join(names, ", "));
  std::vector<SweepLine> lines;
  for (const auto& parameter : SweepParameters(words))
    if (parameter.word.name == name)
      for (auto& line : SweepLines(run, parameter)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace dlroof
