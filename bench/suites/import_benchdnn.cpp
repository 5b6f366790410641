#include "bench/suites/import_benchdnn.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/benchdnn/driver.h"
#include "bench/library_rules/pipe_choice.h"
#include "bench/suites/benchdnn_suite.h"
#include "bench/workload/op.h"
#include "counters/base/error.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"
#include "reporters/verbose/verbose_line.h"

namespace dlroof::suites {
namespace {

constexpr std::string_view kTemplate = "Output template: ";
constexpr std::string_view kDefault =
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%";
constexpr std::string_view kPerf = "perf,";
constexpr double kMostGigaops = 1e15;  // above it the number is none

// A field of a line and the column of its first character.
struct Field {
  std::string_view text;
  int column = 1;
};

std::vector<Field> FieldsOf(std::string_view line) {
  std::vector<Field> fields;
  for (const auto text : verbose::SplitText(line, ','))
    fields.push_back({text, static_cast<int>(text.data() - line.data()) + 1});
  return fields;
}

// Values of one line by their names in the template. Only the problem may hold commas: what stands
// before it is counted from the start, what comes after from the end.
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

  // Absent without the field; throws unless it is a number of at least 0.
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

// Adds the fields of a template that benchdnn's own has not, each once: nothing here takes them.
void AddUnknown(const std::vector<Field>& names, std::vector<std::string>& unknown) {
  static const std::vector<Field> known = FieldsOf(kDefault);
  const auto is_known = [](const Field& name) {
    return std::ranges::any_of(known, [&](const Field& one) { return one.text == name.text; });
  };
  for (const Field& name : names)
    if (name.text.starts_with('%') && !is_known(name) &&
        std::ranges::find(unknown, name.text) == unknown.end())
      unknown.emplace_back(name.text);
}

// Our name of benchdnn's problem; empty where it is none of ours, then `reason` says why.
std::string NameOf(const std::string& problem, std::string& reason) {
  // A line stands for itself: what it would include is no part of it.
  if (problem.find("--batch") != std::string::npos) return "";
  try {
    const auto found = ReadBenchdnn(problem, "line");
    if (found.size() != 1) return "";
    reason = found[0].reason;
    return found[0].name;
  } catch (const BadInput& error) {
    reason = error.what();
    return "";
  }
}

// FLOPs and, where the op knows them, bytes. benchdnn says which implementation it timed, not on
// which instruction set where that implementation's name does not.
void AddWork(std::optional<double> gigaops, record::Record& record) {
  Work& work = record.work[Provenance::kModelled];
  work.launches = 1;
  auto [bytes, type] = workload::FindOp(record.op)->benchdnn.front()->work(workload::ParseBenchmarkName(record.name));
  work.bytes = std::move(bytes);
  if (!gigaops || *gigaops <= 0 || *gigaops > kMostGigaops) return;
  if (const auto pipe = library_rules::NamedMatrixPipe(type, record.algorithm))
    work.flops[*pipe] = *gigaops * 1e9;
  else
    record.counting.push_back(
        {.text =
             fmt::format("FLOPs left out: the instruction set decides which unit multiplies {}, "
                         "and the implementation '{}' does not name it",
                         type, text::Printable(record.algorithm))});
}

record::Record RecordOf(const PerfLine& line, const std::string& place, std::string& reason) {
  const auto problem = line.Find("%prb%");
  if (!problem || problem->text.empty()) throw BadInput(place + ": expected a problem (%prb%)");
  auto milliseconds = line.Number("%0time%");
  if (!milliseconds) milliseconds = line.Number("%-time%");
  if (!milliseconds || !imports::IsRunTime(*milliseconds * 1e-3))
    throw BadInput(place + ": expected a time above 0 (%0time% or %-time%)");
  record::Record record;
  const bool cpu = !line.Find("%engine%") || line.Find("%engine%")->text == "cpu";
  record.name = cpu ? NameOf(std::string(problem->text), reason) : "";
  const bool ours = !record.name.empty();
  if (!ours) record.name = problem->text;
  if (const auto implementation = line.Find("%impl%")) record.algorithm = implementation->text;
  record.repetitions.push_back({.seconds = *milliseconds * 1e-3, .iterations = 1});
  if (!ours) return record;
  record::SplitName(record);
  record.cache = "warm";
  record.repro = problem->text;
  AddWork(line.Number("%Gops%"), record);
  return record;
}

void AddRecord(record::Record record, imports::Imported& imported) {
  const auto same = std::ranges::find_if(
      imported.records, [&](const record::Record& one) { return one.name == record.name; });
  if (same == imported.records.end())
    imported.records.push_back(std::move(record));
  else
    same->repetitions.push_back(record.repetitions.at(0));
}

}  // namespace

bool LooksLikeBenchdnnOutput(std::string_view text) {
  return text.starts_with(kTemplate) || text.starts_with(kPerf) ||
         text.find("\nOutput template: perf,") != std::string_view::npos ||
         text.find("\nperf,") != std::string_view::npos;
}

imports::Imported ImportBenchdnn(const std::string& text, const std::string& where) {
  imports::Imported imported;
  std::string layout(kDefault);
  std::vector<Field> names = FieldsOf(layout);
  std::vector<std::string> unknown;
  int number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto place = fmt::format("{}:{}", where, number);
    if (line.starts_with(kTemplate)) {
      layout.assign(line.substr(kTemplate.size()));
      names = FieldsOf(layout);
      AddUnknown(names, unknown);
    } else if (line.starts_with(kPerf)) {
      if (!text::IsUtf8(line) || line.find('\0') != std::string_view::npos)
        throw BadInput(place + ": not UTF-8 text");
      std::string reason;
      record::Record record = RecordOf(PerfLine(line, number, names, where), place, reason);
      for (const auto& note : record.counting)
        imported.remarks.push_back(fmt::format("{}: {}", place, note.text));
      AddRecord(std::move(record), imported);
      if (!reason.empty())
        imported.remarks.push_back(
            fmt::format("{}: no benchmark of dlroof ({})", place, text::Printable(reason)));
    }
  }
  if (imported.records.empty())
    throw BadInput(where + ":1: no line 'perf,...' (benchdnn prints them with --mode=P)");
  imports::AddUnknownColumns(unknown, where, imported);
  return imported;
}

}  // namespace dlroof::suites
