#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof::suites {
namespace {

constexpr const char* kDriver = "driver";  // key of the reason of an unknown one
constexpr size_t kMaxBenchmarks = 500'000;

// Returns whether a word is the path of benchdnn ("./benchdnn"), with which a command begins.
bool IsProgram(std::string_view text) { return text.substr(text.rfind('/') + 1) == "benchdnn"; }

// Returns the driver that an option --DRIVER names, or null.
const BenchdnnDriver* NamedDriver(std::string_view text) {
  return text.starts_with("--") ? FindBenchdnnDriver(text.substr(2)) : nullptr;
}

// Returns the driver of the first option --DRIVER or problem. Without them returns conv, which is
// benchdnn's default.
const BenchdnnDriver& FirstDriver(const std::vector<BenchdnnToken>& tokens) {
  for (const auto& token : tokens) {
    if (const auto* named = NamedDriver(token.text)) return *named;
    if (const auto* found = DriverOfProblem(token.text)) return *found;
  }
  return *FindBenchdnnDriver("conv");
}

class Reader {
 public:
  Reader(const std::string& file, const std::vector<BenchdnnToken>& tokens)
      : file_(file), choice_(FirstDriver(tokens)) {
    for (const auto& token : tokens) ReadToken(token);
  }

  std::vector<ForeignProblem> Take() { return std::move(benchmarks_); }

 private:
  // Why an option of the command prevents a benchmark, and the option's line.
  struct OptionReason {
    std::string text;
    int line = 0;
  };

  void ReadToken(const BenchdnnToken& token);
  void ReadOption(std::string_view option, std::string_view value, int line);
  void ReadProblem(const BenchdnnToken& token);
  ForeignProblem& Add(const BenchdnnToken& token);

  const std::string& file_;
  BenchdnnChoice choice_;
  std::map<std::string, OptionReason> reasons_;  // by option
  std::vector<ForeignProblem> benchmarks_;
};

void Reader::ReadToken(const BenchdnnToken& token) {
  const std::string_view text = token.text;
  const auto equals = text.find('=');
  if (const auto* driver = NamedDriver(text)) {
    choice_ = BenchdnnChoice(*driver);
    // Options before the driver on the same line belong to the driver's command.
    std::erase_if(reasons_, [&](const auto& reason) {
      return reason.first == kDriver || reason.second.line != token.line;
    });
  } else if (text == "--reset") {
    choice_ = BenchdnnChoice(choice_.Driver());
    reasons_.clear();
  } else if (text.starts_with("--batch=")) {
    Add(token).reason = "--batch: name that file itself instead of this option";
  } else if (text.starts_with("--") && equals != std::string_view::npos) {
    ReadOption(text.substr(2, equals - 2), text.substr(equals + 1), token.line);
  } else if (text.starts_with('-') && !text.starts_with("-v")) {
    // Another driver, for example.
    reasons_[kDriver] = {fmt::format("unknown option '{}'", ShownText(text)), token.line};
  } else if (!text.starts_with('-') && !IsProgram(text)) {
    ReadProblem(token);
  }
}

void Reader::ReadOption(std::string_view option, std::string_view value, int line) {
  std::string name(option);
  std::ranges::replace(name, '_', '-');  // older versions of benchdnn
  reasons_.erase(name);
  try {
    if (!choice_.Set(name, value) && !IsIgnoredOption(name) && !value.empty())
      throw BadInput("unknown option --{} of benchdnn's driver {}", ShownText(name),
                     choice_.Driver().name);
  } catch (const BadInput& error) {
    reasons_[name] = {error.text, line};
  }
}

ForeignProblem& Reader::Add(const BenchdnnToken& token) {
  if (benchmarks_.size() == kMaxBenchmarks)
    throw BadInput({file_, token.line}, "the file has more than {} benchmarks", kMaxBenchmarks);
  return benchmarks_.emplace_back(
      ForeignProblem{{file_, token.line, token.text, ""}, std::nullopt});
}

void Reader::ReadProblem(const BenchdnnToken& token) {
  auto& made = Add(token);
  if (!reasons_.empty()) {
    made.reason = reasons_.begin()->second.text;
    return;
  }
  try {
    const auto name = choice_.Driver().name_of(token.text, choice_);
    if (const auto* reason = std::get_if<Reason>(&name))
      made.reason = reason->text;
    else
      made.name = std::get<std::string>(name);
  } catch (const BadInput& error) {
    made.reason = fmt::format("'{}': {}", ShownText(token.text), error.text);
  }
}

// The second since oneDNN 3.13, which prints the fields' names as a line "perf,..." below it.
constexpr std::string_view kTemplates[] = {"Output template: ", "Template entries: "};
constexpr std::string_view kDefault =
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%";
constexpr std::string_view kPerf = "perf,";
constexpr double kMaxGigaops = 1e15;  // larger numbers are treated as invalid

// A field of a line, and its column in that line.
struct Field {
  std::string_view text;
  int column = 1;
};

std::vector<Field> FieldsOf(std::string_view line) {
  std::vector<Field> fields;
  for (const auto text : logs::SplitText(line, ','))
    fields.push_back({text, static_cast<int>(text.data() - line.data()) + 1});
  return fields;
}

// The fields of one performance line by their names in the template. Only the problem may contain
// commas, so fields before it are counted from the line's start, and fields after it from its end.
class PerfLine {
 public:
  PerfLine(std::string_view line, int number, const std::vector<Field>& names,
           const std::string& where)
      : fields_(FieldsOf(line)), names_(names), line_(line), number_(number), where_(where) {
    if (fields_.size() < names_.size())
      throw BadInput("{}:{}: expected {} fields as the output template has, got {}", where_,
                     number_, names_.size(), fields_.size());
    for (std::size_t i = 0; i < names_.size() && !problem_; ++i)
      if (names_[i].text == "%prb%") problem_ = i;
  }

  std::optional<Field> Find(std::string_view name) const {
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i].text == name) return At(i);
    return std::nullopt;
  }

  // Returns the number in a field, or nothing if the line lacks the field. Throws BadInput unless
  // it is a number of at least 0.
  std::optional<double> Number(std::string_view name) const {
    const auto field = Find(name);
    if (!field) return std::nullopt;
    return text::CsvNumberFromZero({std::string(field->text), number_, field->column}, where_);
  }

 private:
  Field At(std::size_t i) const {
    const std::size_t more = fields_.size() - names_.size();
    if (!problem_ || i < *problem_) return fields_[i];
    if (i > *problem_) return fields_[i + more];
    const Field& last = fields_[i + more];
    const std::size_t begin = static_cast<std::size_t>(fields_[i].column) - 1;
    const std::size_t end = static_cast<std::size_t>(last.column) - 1 + last.text.size();
    return {line_.substr(begin, end - begin), fields_[i].column};
  }

  std::vector<Field> fields_;
  const std::vector<Field>& names_;
  std::string_view line_;
  int number_;
  const std::string& where_;
  std::optional<std::size_t> problem_;
};

// Adds each field of a template once that benchdnn's default template lacks. Such fields are not
// imported.
void AddUnknown(const std::vector<Field>& names, std::vector<std::string>& unknown) {
  static const std::vector<Field> known = FieldsOf(kDefault);
  for (const Field& name : names)
    if (name.text.starts_with('%') &&
        std::ranges::find(known, name.text, &Field::text) == known.end() &&
        std::ranges::find(unknown, name.text) == unknown.end())
      unknown.emplace_back(name.text);
}

// Returns the name of dlroof's benchmark for benchdnn's problem, or sets `reason`.
std::optional<std::string> NameOf(const std::string& problem, std::optional<Reason>& reason) {
  try {
    const auto found = ReadBenchdnn(problem, "line");
    if (found.size() != 1) return std::nullopt;
    if (!found[0].name) reason = Reason{found[0].reason};
    return found[0].name;
  } catch (const BadInput& error) {
    reason = Reason{error.what()};
    return std::nullopt;
  }
}

// Adds the FLOPs and, if the op knows them, the bytes. benchdnn reports the name of the
// implementation, which may lack the instruction set.
void AddWork(std::optional<double> gigaops, record::Record& record) {
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  auto [bytes, type] = workload::FindOp(record.op)->benchdnn.front()->work(
      workload::ParseBenchmarkName(record.name));
  work.bytes = std::move(bytes);
  if (!gigaops || *gigaops <= 0 || *gigaops > kMaxGigaops) return;
  if (const auto pipe = workload::NamedMatrixPipe(type, record.algorithm))
    work.flops[*pipe] = *gigaops * 1e9;
  else
    record.counting.push_back(
        {.text =
             fmt::format("FLOPs left out: the instruction set determines which unit multiplies {}, "
                         "and the implementation '{}' does not name it",
                         type, text::Printable(record.algorithm))});
}

// Returns whether fields of numbers belong to the problem, which may contain commas, since there
// are more fields than expected. Descriptors have no comma.
bool EndsWithNumber(std::string_view problem) {
  const auto comma = problem.rfind(',');
  return comma != std::string_view::npos && text::PlainNumber(problem.substr(comma + 1));
}

record::Record RecordOf(const PerfLine& line, const std::string& place,
                        std::optional<Reason>& reason) {
  const auto problem = line.Find("%prb%");
  if (!problem || problem->text.empty())
    throw BadInput(place +
                   ": expected a problem (%prb%), which the template has not: run benchdnn with "
                   "--perf-template=def");
  if (EndsWithNumber(problem->text))
    throw BadInput(place +
                   ": more fields than the output template has: its numbers have decimal "
                   "commas (run benchdnn with LC_ALL=C)");
  auto milliseconds = line.Number("%0time%");
  if (!milliseconds) milliseconds = line.Number("%-time%");
  if (!milliseconds || !imports::IsRunTime(*milliseconds * 1e-3))
    throw BadInput(place + ": expected a time above 0 (%0time% or %-time%)");
  record::Record record;
  const bool cpu = !line.Find("%engine%") || line.Find("%engine%")->text == "cpu";
  const auto name = cpu ? NameOf(std::string(problem->text), reason) : std::optional<std::string>();
  record.name = name.value_or(std::string(problem->text));
  if (const auto implementation = line.Find("%impl%")) record.algorithm = implementation->text;
  record.repetitions.push_back({.seconds = *milliseconds * 1e-3, .iterations = 1});
  if (!name) return record;
  record::SplitName(record);
  record.cache = "warm";
  record.repro = problem->text;
  AddWork(line.Number("%Gops%"), record);
  return record;
}

bool HasNoNumber(std::string_view line) {
  return std::ranges::none_of(
      FieldsOf(line), [](const Field& field) { return text::PlainNumber(field.text).has_value(); });
}

void AddRecord(record::Record record, imports::Imported& imported) {
  const auto same = std::ranges::find(imported.records, record.name, &record::Record::name);
  if (same == imported.records.end())
    imported.records.push_back(std::move(record));
  else
    same->repetitions.push_back(record.repetitions.at(0));
}

}  // namespace

bool LooksLikeBenchdnn(std::string_view text) {
  // Reads only up to the first word, because the file may be long.
  for (size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    const auto tokens = BenchdnnTokens(text.substr(at, end - at));
    at = end + 1;
    if (tokens.empty()) continue;
    const std::string& word = tokens.front().text;
    return word.front() == '-' || IsProgram(word) || DriverOfProblem(word) != nullptr;
  }
  return false;
}

std::vector<ForeignProblem> ReadBenchdnn(std::string_view text, const std::string& file) {
  return Reader(file, BenchdnnTokens(text)).Take();
}

bool LooksLikeBenchdnnOutput(std::string_view text) {
  return std::ranges::any_of(kTemplates, [&](auto word) { return text.starts_with(word); }) ||
         text.starts_with(kPerf) || text.find("\nperf,") != std::string_view::npos ||
         text.find("\nOutput template: perf,") != std::string_view::npos;
}

imports::Imported ImportBenchdnn(const std::string& text, const std::string& where) {
  imports::Imported imported;
  std::string layout(kDefault);
  std::vector<Field> names = FieldsOf(layout);
  std::vector<std::string> unknown;
  int number = 0;
  imports::LeftOut left_out;
  bool names_follow = false;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto place = fmt::format("{}:{}", where, number);
    const auto* const word = std::ranges::find_if(
        kTemplates, [&](std::string_view one) { return line.starts_with(one); });
    const bool of_names = std::exchange(names_follow, word == &kTemplates[1]) && HasNoNumber(line);
    if (word != std::end(kTemplates)) {
      layout.assign(line.substr(word->size()));
      names = FieldsOf(layout);
      AddUnknown(names, unknown);
    } else if (line.starts_with(kPerf) && !of_names) {
      left_out.Try([&] {
        if (!text::IsUtf8(line) || line.find('\0') != std::string_view::npos)
          throw BadInput(place + ": not UTF-8 text");
        std::optional<Reason> reason;
        record::Record record = RecordOf(PerfLine(line, number, names, where), place, reason);
        for (const auto& note : record.counting)
          imported.remarks.push_back(fmt::format("{}: {}", place, note.text));
        AddRecord(std::move(record), imported);
        if (reason)
          imported.remarks.push_back(fmt::format("{}: not a benchmark of dlroof ({})", place,
                                                 text::Printable(reason->text)));
      });
    }
  }
  left_out.AddTo(imported, "lines are");
  if (imported.records.empty())
    throw BadInput(where +
                   ":1: the file has no line 'perf,...' (benchdnn prints them with --mode=P)");
  imports::AddUnknownColumns(unknown, where, imported);
  imports::AddCutLine(text, where, imported);
  return imported;
}

}  // namespace dlroof::suites
