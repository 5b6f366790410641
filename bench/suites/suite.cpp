#include "bench/suites/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "bench/suites/benchdnn.h"
#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/numbers.h"

namespace dlroof::suites {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr size_t kMaxNames = 10000;
constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kMaxShownName = 160;

// A line of a suite file. `file` is the name of an Op, and `line` 0, for the Op's templates.
struct Source {
  const std::string& file;
  int line = 0;  // from 1

  [[noreturn]] void Refuse(const std::string& reason) const {
    throw BadInput({file, line, 0}, ShownText(reason, reason.size()));
  }
};

// The choices of a brace list, as views into the line. Text outside of lists is a single choice.
using Choices = std::vector<std::string_view>;

// Splits a text into Choices. Throws BadInput for braces that do not match.
std::vector<Choices> ReadBraces(const Source& source, std::string_view text) {
  std::vector<Choices> parts;
  for (size_t at = 0; at < text.size();) {
    const auto open = std::min(text.find_first_of("{}", at), text.size());
    if (open > at) parts.push_back({text.substr(at, open - at)});
    if (open == text.size()) break;
    if (text[open] == '}') source.Refuse("'}' without its '{'");
    const auto close = text.find_first_of("{}", open + 1);
    if (close == std::string_view::npos) source.Refuse("'{' without its '}'");
    if (text[close] == '{') source.Refuse("brace lists do not nest");
    parts.push_back(logs::SplitText(text.substr(open + 1, close - open - 1), ','));
    if (parts.back().size() < 2) source.Refuse("a brace list needs at least two choices: {a,b}");
    at = close + 1;
  }
  return parts;
}

// Returns the choices of each part between slashes. Throws BadInput unless it is a word or a list.
std::vector<Choices> ReadParts(const Source& source, std::string_view text) {
  std::vector<Choices> parts;
  for (const auto part : logs::SplitText(text, '/')) {
    auto braces = ReadBraces(source, part);
    if (braces.size() != 1) source.Refuse("expected a word or one brace list between two slashes");
    parts.push_back(std::move(braces.front()));
  }
  return parts;
}

// Returns every combination of one choice per part. Throws BadInput if there are more than `most`.
std::vector<Choices> Expanded(const Source& source, const std::vector<Choices>& parts,
                              size_t most) {
  size_t count = 1;
  for (const auto& choices : parts)
    if ((count *= choices.size()) > most)
      source.Refuse(fmt::format("the suite has more than {} names", kMaxNames));
  std::vector<Choices> names(1);
  for (const auto& choices : parts) {
    std::vector<Choices> longer;
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

int64_t ReadCount(const Source& source, std::string_view text) {
  workload::TextCursor cursor(text);
  try {
    if (!cursor.Accept("x"))
      cursor.Refuse("xN, the number of occurrences of the layer, or the end of the line");
    const auto count = cursor.Integer(1, "the number of occurrences of the layer");
    if (!cursor.AtEnd()) cursor.Refuse("the end of the line");
    return count;
  } catch (const BadInput& error) {
    source.Refuse(error.text);
  }
}

[[noreturn]] void RefuseOp(const Source& source, std::string_view line) {
  std::vector<std::string_view> known;
  for (const workload::Op* op : workload::AllOps()) known.emplace_back(op->name);
  source.Refuse(fmt::format("no operator '{}'; there are {}", line.substr(0, line.find('/')),
                            fmt::join(known, ", ")));
}

std::vector<NameRow> ReadTemplate(const Source& source, std::string_view line) {
  constexpr size_t kProblem = 5;
  const auto parts = ReadParts(source, line);
  if (parts.size() <= kProblem || parts[kProblem] != Choices{"*"} ||
      std::ranges::count(line, '*') > 1)
    source.Refuse(
        "expected a template op/device/library/direction/type/*, a name with * for its problem");
  if (parts[0].size() > 1 || workload::FindOp(parts[0].front()) == nullptr) RefuseOp(source, line);
  std::vector<NameRow> rows;
  for (const auto& pieces : Expanded(source, parts, kMaxNames))
    rows.push_back({workload::NameOfParts({pieces.begin(), pieces.end()})});
  return rows;
}

// The templates of an operator for the problems that follow.
struct Templates {
  std::vector<NameRow> rows;
  int line = 0;  // line of the first template
  bool used = false;
};

class SuiteReader {
 public:
  SuiteReader(const std::string& file, const SuiteDevices& devices)
      : source_{file}, devices_(devices) {
    suite_.name = file;
  }

  Suite Read(std::string_view text) {
    for (const auto line : logs::SplitText(text, '\n')) {
      ++source_.line;
      ReadLine(text::Trimmed(line.substr(0, line.find('#'))));
    }
    for (const auto& [op, templates] : templates_)
      if (!templates.used)
        Source{source_.file, templates.line}.Refuse(
            fmt::format("no problem of {} follows this template", op));
    return std::move(suite_);
  }

 private:
  void ReadLine(std::string_view line) {
    constexpr auto kMaxHead = 2;  // maximum slashes in op/direction/type
    if (line.empty()) return;
    const auto word = TakeWord(line);
    if (word.find('*') != std::string_view::npos) {
      if (!line.empty()) source_.Refuse("expected the end of the line after a template");
      AddTemplate(word);
    } else if (!line.empty() && std::ranges::count(word, '/') <= kMaxHead) {
      const auto problem = TakeWord(line);
      AddProblem(word, problem, CountIn(line));
    } else {
      const auto count = CountIn(line);
      for (const auto& pieces : Expanded(source_, ReadBraces(source_, word), MostMore()))
        Add(fmt::format("{}", fmt::join(pieces, "")), count);
    }
  }

  static std::string_view TakeWord(std::string_view& line) {
    const auto word = line.substr(0, line.find_first_of(kBlanks));
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks, word.size()), line.size()));
    return word;
  }

  int64_t CountIn(std::string_view rest) {
    if (rest.empty()) return 1;
    suite_.counted = true;
    return ReadCount(source_, rest);
  }

  size_t MostMore() const { return kMaxNames - suite_.layers.size(); }

  void AddTemplate(std::string_view line) {
    auto rows = ReadTemplate(source_, line);
    auto& templates = templates_[rows.front().name.op];
    if (templates.used || templates.rows.empty()) templates = {.line = source_.line};
    templates.rows.insert(templates.rows.end(), rows.begin(), rows.end());
  }

  std::vector<NameRow> RowsOf(const workload::Op& op) {
    const auto found = templates_.find(op.name);
    if (found != templates_.end()) {
      found->second.used = true;
      return found->second.rows;
    }
    std::vector<NameRow> rows;
    for (const auto line : logs::SplitText(op.templates, '\n')) {
      if (line.empty()) continue;
      const auto more = ReadTemplate({op.name}, line);
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }

  // Adds the benchmarks of a line that uses templates. `head` is op[/direction[/type]].
  void AddProblem(std::string_view head, std::string_view problem, int64_t count) {
    const auto parts = ReadParts(source_, head);
    const workload::Op* const op = parts.empty() ? nullptr : workload::FindOp(parts[0].front());
    if (op == nullptr || parts[0].size() > 1) RefuseOp(source_, head);
    auto rows = RowsOf(*op);
    for (size_t i = 1; i < parts.size(); ++i)
      rows = Choose(rows,
                    i == 1 ? &workload::BenchmarkName::direction : &workload::BenchmarkName::type,
                    parts[i]);
    const auto problems = Expanded(source_, ReadBraces(source_, problem), MostMore());
    if (rows.size() * problems.size() > MostMore())
      source_.Refuse(fmt::format("the suite has more than {} names", kMaxNames));
    const auto runs = [&](const NameRow& row) {
      return row.name.device == "gpu" ? devices_.gpu : devices_.cpu;
    };
    const bool any = std::ranges::any_of(rows, runs);
    for (auto& row : rows)
      for (const auto& pieces : problems) {
        row.name.problem = fmt::format("{}", fmt::join(pieces, ""));
        Add(workload::ToText(row.name), count, !any || runs(row));
      }
  }

  // Checks a name. Adds it to the suite if `runs`, i.e. if the run has its device.
  void Add(std::string name, int64_t count, bool runs = true) {
    if (const auto reason = workload::InvalidReason(name))
      source_.Refuse(fmt::format("{}: {}", ShownText(name, kMaxShownName), reason->what()));
    if (!runs) return;
    const auto [first, is_new] = line_of_.emplace(name, source_.line);
    if (!is_new)
      source_.Refuse(
          fmt::format("{} is already in line {}", ShownText(name, kMaxShownName), first->second));
    suite_.layers.push_back({std::move(name), count});
  }

  Source source_;
  SuiteDevices devices_;
  Suite suite_;
  std::map<std::string, Templates> templates_;  // by operator
  std::unordered_map<std::string, int> line_of_;
};

}  // namespace

Suite ReadSuite(std::string_view text, const std::string& file, const SuiteDevices& devices) {
  if (text.size() > kMaxBytes) throw BadInput(file + ": the suite is longer than 1 MiB");
  Suite suite = SuiteReader(file, devices).Read(text);
  if (suite.layers.empty()) throw BadInput(file + ": the file contains no benchmark name");
  return suite;
}

Suite SuiteFromProblems(const std::string& file, const std::vector<ForeignProblem>& problems) {
  Suite suite{.name = file};
  std::unordered_set<std::string> seen;
  for (const auto& problem : problems) {
    if (!problem.name)
      suite.skipped.push_back(problem);
    else if (seen.insert(*problem.name).second)
      suite.layers.push_back({*problem.name});
  }
  return suite;
}

std::string_view Summary(const EmbeddedFile& suite) {
  const auto line = suite.text.substr(0, suite.text.find('\n'));
  return line.substr(std::min(line.find_first_not_of("# "), line.size()));
}

}  // namespace dlroof::suites
