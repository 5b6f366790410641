#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
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

namespace fs = std::filesystem;

constexpr std::streamsize kMaxFileBytes = 16 << 20;
constexpr std::string_view kBatch = "--batch=";
constexpr size_t kMaxBenchmarks = 500'000;
constexpr size_t kMaxTokens = 10'000'000;  // in a file and all files that it includes

// Returns whether a word is the path of benchdnn ("./benchdnn"), with which a command begins.
bool IsProgram(std::string_view text) { return text.substr(text.rfind('/') + 1) == "benchdnn"; }

std::string WholeFile(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(static_cast<size_t>(kMaxFileBytes) + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || !stream.eof())
    throw BadInput("{} cannot be read, or is longer than 16 MiB", ShownText(path));
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

// A file of benchdnn. It is read once even if it is included several times.
struct BenchdnnFile {
  std::string path;  // path as in messages
  std::vector<BenchdnnToken> tokens;
};

class BenchdnnFiles {
 public:
  // `path` and `text` are those of the file that the user gave.
  BenchdnnFiles(const std::string& path, std::string_view text)
      : first_{path, BenchdnnTokens(text)} {}

  const BenchdnnFile& First() const { return first_; }
  // Returns the file for an option --batch=`name` in the file `from`. Throws BadInput without a
  // line if there is no such regular file, or if it is longer than 16 MiB.
  const BenchdnnFile& Batch(const BenchdnnFile& from, std::string_view name) {
    if (name.empty() || name.find('\0') != std::string_view::npos)
      throw BadInput("expected a file after --batch=");
    const auto path = Locate(from, name);
    if (path == fs::path(first_.path).lexically_normal()) return first_;
    auto& file = read_[path];
    if (file == nullptr)
      file = std::make_unique<BenchdnnFile>(BenchdnnFile{path, BenchdnnTokens(WholeFile(path))});
    return *file;
  }
  // Returns the driver of the first option --DRIVER or problem. Without them returns conv, which is
  // benchdnn's default.
  const BenchdnnDriver& FirstDriver() {
    std::set<std::string> seen;
    const auto* const found = DriverIn(first_, seen);
    return found != nullptr ? *found : *FindBenchdnnDriver("conv");
  }

 private:
  // Searches each file once. Returns null if no file contains a problem or an option --DRIVER.
  const BenchdnnDriver* DriverIn(const BenchdnnFile& file, std::set<std::string>& seen) {
    constexpr size_t kMaxFiles = 1000;
    if (seen.size() == kMaxFiles || !seen.insert(file.path).second) return nullptr;
    for (const auto& token : file.tokens)
      if (const auto* driver = DriverOf(token.text, file, seen)) return driver;
    return nullptr;
  }

  const BenchdnnDriver* DriverOf(std::string_view text, const BenchdnnFile& file,
                                 std::set<std::string>& seen) {
    if (text.starts_with("--"))
      if (const auto* driver = FindBenchdnnDriver(text.substr(2))) return driver;
    if (!text.starts_with(kBatch)) return DriverOfProblem(text);
    try {
      return DriverIn(Batch(file, text.substr(kBatch.size())), seen);
    } catch (const BadInput&) {
      return nullptr;  // Reader reports the error and its line
    }
  }

  std::string Locate(const BenchdnnFile& from, std::string_view name) const {
    std::vector<std::string_view> folders;
    for (const auto* driver : BenchdnnDrivers()) folders.push_back(driver->name);
    for (const auto* including : {&from, &first_})
      for (size_t i = 0; i <= folders.size(); ++i) {
        const auto folder = i == 0 ? std::string_view() : folders[i - 1];
        const auto path =
            (fs::path(including->path).parent_path() / folder / name).lexically_normal();
        std::error_code error;
        if (fs::is_regular_file(path, error)) return path.string();
      }
    throw BadInput("no file {} beside {} or in its folders {}", ShownText(name),
                   ShownText(from.path), fmt::join(folders, " and "));
  }

  BenchdnnFile first_;
  std::map<std::string, std::unique_ptr<BenchdnnFile>> read_;  // by path
};

class Reader {
 public:
  Reader(const std::string& file, std::string_view text)
      : files_(file, text), settings_(files_.FirstDriver()) {}

  std::vector<ForeignProblem> Read() {
    ReadFile(files_.First());
    return std::move(benchmarks_);
  }

 private:
  void ReadFile(const BenchdnnFile& file);
  // Returns the batch file that the token includes, or null.
  const BenchdnnFile* ReadToken(const BenchdnnToken& token, const BenchdnnFile& file);
  const BenchdnnFile* Batch(const BenchdnnFile& from, std::string_view name);
  void BeginCommand(const BenchdnnDriver& driver, int line);
  void ReadOption(std::string_view option, std::string_view value, int line);
  // Parses an option of no driver that changes what runs or where. Returns false for any other
  // option.
  bool ReadGlobal(std::string_view option, std::string_view value, int line);
  void ReadProblem(const BenchdnnToken& token, const BenchdnnFile& file);
  // Returns why an option of the command prevents a benchmark.
  std::optional<Reason> CommandReason() const;

  BenchdnnFiles files_;
  BenchdnnSettings settings_;
  std::string engine_ = "cpu", isa_hints_ = "none";
  int global_line_ = 0;                         // line of the last such option
  std::string unknown_driver_;                  // reason; lasts until the next known driver
  std::map<std::string, std::string> unknown_;  // reasons by option; last until --reset
  std::vector<const BenchdnnFile*> including_;
  size_t tokens_ = 0;
  std::vector<ForeignProblem> benchmarks_;
};

void Reader::ReadFile(const BenchdnnFile& file) {
  including_.push_back(&file);
  for (const auto& token : file.tokens) {
    const auto refuse = [&](size_t offset, const std::string& reason) {
      const TextPlace place = token.At(offset);
      throw BadInput({file.path, place.line, place.column}, reason);
    };
    const BenchdnnFile* batch = nullptr;
    try {
      batch = ReadToken(token, file);
    } catch (const BenchdnnRefusal& refusal) {
      refuse(refusal.offset, refusal.what());
    } catch (const BadInput& error) {
      refuse(0, error.what());
    }
    if (batch != nullptr) ReadFile(*batch);  // errors in this file have its own lines
  }
  including_.pop_back();
}

const BenchdnnFile* Reader::ReadToken(const BenchdnnToken& token, const BenchdnnFile& file) {
  if (++tokens_ > kMaxTokens)
    throw BadInput("the file and its batch files have more than {} words", kMaxTokens);
  const std::string_view text = token.text;
  const int line = token.At(0).line;
  const auto equals = text.find('=');
  const auto* driver = text.starts_with("--") ? FindBenchdnnDriver(text.substr(2)) : nullptr;
  if (IsProgram(text) || driver != nullptr) {
    if (driver != nullptr) BeginCommand(*driver, line);
  } else if (text == "--reset") {
    settings_ = BenchdnnSettings(settings_.Driver());
    unknown_.clear();
  } else if (text.starts_with(kBatch)) {
    return Batch(file, text.substr(kBatch.size()));
  } else if (text.substr(0, 2) == "-v") {
    ReadOption("verbose", text.substr(2), line);
  } else if (text.substr(0, 2) == "--" && equals != std::string_view::npos) {
    ReadOption(text.substr(2, equals - 2), text.substr(equals + 1), line);
  } else if (text.front() == '-') {
    // Another driver, for example.
    unknown_driver_ = fmt::format("unknown option '{}'", ShownText(text));
  } else {
    ReadProblem(token, file);
  }
  return nullptr;
}

const BenchdnnFile* Reader::Batch(const BenchdnnFile& from, std::string_view name) {
  constexpr size_t kMaxDepth = 64;
  const BenchdnnFile& batch = files_.Batch(from, name);
  if (std::ranges::find(including_, &batch) != including_.end())
    throw BadInput("{} includes itself", ShownText(batch.path));
  if (including_.size() == kMaxDepth)
    throw BadInput("batch files include each other more than {} deep", kMaxDepth);
  return &batch;
}

// Options before the driver on the same line belong to the driver's command.
void Reader::BeginCommand(const BenchdnnDriver& driver, int line) {
  settings_ = BenchdnnSettings(driver);
  unknown_driver_.clear();
  unknown_.clear();
  if (global_line_ == line) return;
  engine_ = "cpu";
  isa_hints_ = "none";
}

void Reader::ReadOption(std::string_view option, std::string_view value, int line) {
  const std::string name(option);
  unknown_.erase(name);
  try {
    if (settings_.Set(option, value) || IsIgnoredOption(option, value) ||
        ReadGlobal(option, value, line))
      return;
    if (!value.empty())
      unknown_[name] = fmt::format("unknown option --{} of benchdnn's driver {}", ShownText(option),
                                   settings_.Driver().name);
  } catch (const BenchdnnRefusal& refusal) {
    unknown_[name] = fmt::format("--{}={}: {}", name, ShownText(value), refusal.what());
  }
}

bool Reader::ReadGlobal(std::string_view option, std::string_view value, int line) {
  if (option == "engine") {
    engine_ = OneOf("cpu gpu", value.substr(0, value.find(':')));
    global_line_ = line;
  } else if (option == "cpu-isa-hints") {
    isa_hints_ = value.empty() ? "none" : OneOf("none no_hints prefer_ymm", value);
    global_line_ = line;
  } else {
    return false;
  }
  return true;
}

void Reader::ReadProblem(const BenchdnnToken& token, const BenchdnnFile& file) {
  constexpr size_t kMaxCharacters = 1000;  // limited because each benchmark has a copy
  if (token.text.size() > kMaxCharacters)
    throw BadInput("the problem is longer than {} characters", kMaxCharacters);
  if (benchmarks_.size() == kMaxBenchmarks)
    throw BadInput("the file has more than {} benchmarks", kMaxBenchmarks);
  auto& made = benchmarks_.emplace_back(
      ForeignProblem{{file.path, token.At(0).line, token.text, ""}, std::nullopt});
  const auto of_command = CommandReason();
  try {
    const auto problem = settings_.Driver().read(token.text);
    const auto name = of_command ? BenchdnnName(*of_command) : problem(settings_.Choice());
    if (const auto* reason = std::get_if<Reason>(&name))
      made.reason = reason->text;
    else
      made.name = std::get<std::string>(name);
  } catch (const BenchdnnRefusal& refusal) {
    made.reason = of_command ? of_command->text
                             : fmt::format("'{}': {}", ShownText(token.text), refusal.what());
  }
}

std::optional<Reason> Reader::CommandReason() const {
  if (!unknown_driver_.empty()) return Reason{unknown_driver_};
  if (!unknown_.empty()) return Reason{unknown_.begin()->second};
  if (engine_ != "cpu") return Reason{"engine " + engine_};
  if (isa_hints_ == "prefer_ymm") return Reason{"cpu-isa-hints prefer_ymm"};
  return settings_.Unknown();
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
  // A performance line describes one problem, so an option --batch is an error.
  if (problem.find("--batch") != std::string::npos) return std::nullopt;
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
  return Reader(file, text).Read();
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
