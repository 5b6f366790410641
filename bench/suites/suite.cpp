#include "bench/suites/suite.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "bench/workload/problem_text.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"

namespace dlroof {
namespace {

constexpr size_t kMostBytes = 1 << 20;
constexpr size_t kMostNames = 10000;
constexpr std::string_view kSpace = " \t\r";

// A line without its comment and the spaces around it.
struct Line {
  std::string_view text;
  size_t begin = 0;  // characters before it
};

Line Trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return {line.substr(begin, line.find_last_not_of(kSpace) - begin + 1), begin};
}

// For messages: a hostile file may hold control characters.
std::string Visible(std::string_view text) {
  std::string visible(text);
  for (char& c : visible)
    if (c < ' ' || c > '~') c = '?';
  return visible;
}

// ... and long names.
std::string Shown(std::string_view name) {
  constexpr size_t kMost = 160;
  return Visible(name.substr(0, kMost)) + (name.size() > kMost ? "..." : "");
}

// One brace list, or the text between two of them as its only choice; views of the line.
using Choices = std::vector<std::string_view>;

[[noreturn]] void Refuse(size_t characters_before, const std::string& why) {
  throw BadInput({.column = static_cast<int>(characters_before) + 1}, why);
}

Choices Split(std::string_view list) {
  Choices choices;
  for (size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    choices.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return choices;
}

// Throws BadInput with the column for braces that do not match.
std::vector<Choices> ReadBraces(const Line& line) {
  std::vector<Choices> parts;
  for (size_t at = 0; at < line.text.size();) {
    const auto open = std::min(line.text.find_first_of("{}", at), line.text.size());
    if (open > at) parts.push_back({line.text.substr(at, open - at)});
    if (open == line.text.size()) break;
    if (line.text[open] == '}') Refuse(line.begin + open, "'}' without its '{'");
    const auto close = line.text.find_first_of("{}", open + 1);
    if (close == std::string_view::npos) Refuse(line.begin + open, "'{' without its '}'");
    if (line.text[close] == '{') Refuse(line.begin + close, "brace lists do not nest");
    parts.push_back(Split(line.text.substr(open + 1, close - open - 1)));
    if (parts.back().size() < 2)
      Refuse(line.begin + open, "a brace list has two choices or more: {a,b}");
    at = close + 1;
  }
  return parts;
}

// The choice taken of each part; joined they are a name.
using Pieces = std::vector<std::string_view>;

// Throws BadInput without a column when there would be more than `most`.
std::vector<Pieces> Expanded(const std::vector<Choices>& parts, size_t most) {
  size_t count = 1;
  for (const auto& choices : parts)
    if ((count *= choices.size()) > most)
      throw BadInput(fmt::format("a suite holds {} names at most, here are more", kMostNames));
  std::vector<Pieces> names(1);
  for (const auto& choices : parts) {
    std::vector<Pieces> longer;
    longer.reserve(names.size() * choices.size());
    for (const auto& name : names)
      for (const auto choice : choices) {
        longer.push_back(name);
        longer.back().push_back(choice);
      }
    names = std::move(longer);
  }
  return names;
}

std::string Joined(const Pieces& pieces) {
  std::string name;
  for (const auto piece : pieces) name += piece;
  return name;
}

// Characters of `line` before the one that stands in the joined name behind `characters`.
size_t BeforeInLine(std::string_view line, const Pieces& pieces, size_t characters) {
  for (const auto piece : pieces) {
    if (characters < piece.size())
      return static_cast<size_t>(piece.data() - line.data()) + characters;
    characters -= piece.size();
  }
  return static_cast<size_t>(pieces.back().data() - line.data()) + pieces.back().size();
}

// Characters before the problem of a benchmark's name; 0 where it has none.
size_t BeforeProblem(std::string_view name) {
  constexpr int kPartsBefore = 5;
  size_t begin = 0;
  for (int i = 0; i < kPartsBefore; ++i) {
    begin = name.find('/', begin) + 1;
    if (begin == 0) break;
  }
  return begin;
}

// Throws BadInput with the column in `line`, which a brace list makes another one than in the name.
void CheckName(const std::string& name, const Pieces& pieces, std::string_view line) {
  try {
    MakeWorkload(name);
  } catch (const Unsupported&) {
    // Recorded with its reason when its turn comes.
  } catch (const BadInput& error) {
    // Without a column the problem as a whole is impossible.
    const auto column = static_cast<size_t>(error.place.column);
    const auto before = BeforeInLine(line, pieces, column > 0 ? column - 1 : BeforeProblem(name));
    Refuse(before,
           pieces.size() == 1 ? error.text : fmt::format("{} (in {})", error.text, Shown(name)));
  }
}

// Returns the text behind the name, which stays in `line`; empty where there is none.
Line TakeRest(Line& line) {
  const auto end = line.text.find_first_of(kSpace);
  if (end == std::string_view::npos) return {};
  const auto begin = line.text.find_first_not_of(kSpace, end);
  const Line rest = {line.text.substr(begin), line.begin + begin};
  line.text = line.text.substr(0, end);
  return rest;
}

int64_t ReadCount(const Line& rest) {
  TextCursor cursor(rest.text, static_cast<int>(rest.begin));
  if (!cursor.Accept("x")) cursor.Refuse("xN, how often the layer occurs, or the end of the line");
  const auto count = cursor.Integer(1, "how often the layer occurs");
  if (!cursor.AtEnd()) cursor.Refuse("the end of the line");
  return count;
}

class SuiteReader {
 public:
  explicit SuiteReader(const std::string& name) { suite_.name = name; }

  // Throws BadInput with a column, that of the first error.
  void Read(std::string_view text, int number) {
    auto line = Trimmed(text);
    if (line.text.empty()) return;
    const auto rest = TakeRest(line);
    const auto first = suite_.layers.size();
    try {
      for (const auto& pieces : Expanded(ReadBraces(line), kMostNames - first))
        Add(pieces, text, number);
    } catch (const BadInput& error) {
      if (error.place.column == 0) Refuse(line.begin, error.text);
      throw;
    }
    if (rest.text.empty()) return;
    suite_.counted = true;
    const auto count = ReadCount(rest);
    for (auto i = first; i < suite_.layers.size(); ++i) suite_.layers[i].count = count;
  }
  Suite Take() { return std::move(suite_); }

 private:
  void Add(const Pieces& pieces, std::string_view line, int number) {
    auto name = Joined(pieces);
    CheckName(name, pieces, line);
    const auto [first, is_new] = line_of_.emplace(name, number);
    if (!is_new)
      throw BadInput(fmt::format("{} is there already, in line {}", Shown(name), first->second));
    suite_.layers.push_back({std::move(name)});
  }

  Suite suite_;
  std::unordered_map<std::string, int> line_of_;
};

Suite FromNames(std::string_view text, const std::string& file) {
  SuiteReader reader(file);
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    ++number;
    try {
      reader.Read(text.substr(at, end - at), number);
    } catch (const BadInput& error) {
      throw BadInput({file, number, error.place.column}, Visible(error.text));
    }
    at = end + 1;
  }
  return reader.Take();
}

}  // namespace

Suite ReadSuite(std::string_view text, const std::string& file) {
  if (text.size() > kMostBytes) throw BadInput(file + ": a suite is 1 MiB long at most");
  Suite suite = FromNames(text, file);
  if (suite.layers.empty() && suite.skipped.empty())
    throw BadInput(file + ": no benchmark name in it");
  return suite;
}

Suite SuiteFromProblems(const std::string& file, std::vector<ForeignProblem> problems) {
  Suite suite{.name = file};
  std::unordered_set<std::string> seen;
  for (auto& problem : problems) {
    if (problem.name.empty())
      suite.skipped.push_back(std::move(problem.as_written));
    else if (seen.insert(problem.name).second)
      suite.layers.push_back({std::move(problem.name)});
  }
  return suite;
}

std::string_view Summary(const EmbeddedFile& suite) {
  const auto line = suite.text.substr(0, suite.text.find('\n'));
  return line.substr(std::min(line.find_first_not_of("# "), line.size()));
}

}  // namespace dlroof
