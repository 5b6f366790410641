#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bench/profile/profile.h"
#include "bench/suites/benchdnn.h"
#include "bench/suites/suite.h"
#include "bench/workload/library_rules.h"
#include "bench/workload/workload.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::profile {
namespace {

// Beginnings of lines with field names. oneDNN 3.13 prints the second, then a header "perf,...".
constexpr std::string_view kTemplates[] = {"Output template: ", "Template entries: "};
constexpr std::string_view kDefault =
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%+ctime%,%-time%,%-Gflops%,%0time%,%0Gflops%";
constexpr std::string_view kPerf = "perf,";
constexpr double kMaxGigaops = 1e15;  // larger numbers are invalid

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

// A line "perf,...": its fields by their names in the template.
struct PerfLine {
  std::map<std::string_view, Field> fields;
  int number;
  const std::string& where;

  std::optional<std::string_view> Text(std::string_view name) const {
    const auto* const field = FindValue(fields, name);
    return field == nullptr ? std::nullopt : std::optional(field->text);
  }
  // Returns a field's number, or nullopt if the template lacks it. Throws BadInput for one below 0.
  std::optional<double> Number(std::string_view name) const {
    const auto* const field = FindValue(fields, name);
    if (field == nullptr) return std::nullopt;
    return text::CsvNumberFromZero({std::string(field->text), number, field->column}, where);
  }
};

// Only the problem may contain commas: its text reaches up to the fields that follow it in `names`.
PerfLine ReadPerfLine(std::string_view line, int number, const std::vector<Field>& names,
                      const std::string& where) {
  const auto found = FieldsOf(line);
  if (found.size() < names.size())
    throw BadInput("{}:{}: expected {} fields as the output template has, got {}", where, number,
                   names.size(), found.size());
  PerfLine perf{{}, number, where};
  std::size_t more = 0;  // fields of the line that are commas of the problem
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto field = found[i + more];
    if (names[i].text == "%prb%" && !perf.fields.contains("%prb%")) {
      more = found.size() - names.size();
      const auto& last = found[i + more].text;
      field.text = {field.text.data(), last.data() + last.size()};
    }
    perf.fields.emplace(names[i].text, field);
  }
  return perf;
}

// Adds to `unknown`, once each, fields that benchdnn's default template lacks: they are ignored.
void AddUnknown(const std::vector<Field>& names, std::vector<std::string>& unknown) {
  static const std::vector<Field> known = FieldsOf(kDefault);
  for (const Field& name : names)
    if (name.text.starts_with('%') && name.text != "%time%" &&
        std::ranges::find(known, name.text, &Field::text) == known.end() &&
        std::ranges::find(unknown, name.text) == unknown.end())
      unknown.emplace_back(name.text);
}

// Returns the name of dlroof's benchmark for benchdnn's problem, or nullopt; then sets `reason`.
std::optional<std::string> NameOf(const std::string& problem, std::optional<Reason>& reason) {
  try {
    const auto found = suites::ReadBenchdnn(problem, "line");
    if (found.size() != 1) return std::nullopt;
    if (!found[0].name) reason = Reason{found[0].reason};
    return found[0].name;
  } catch (const BadInput& error) {
    reason = Reason{error.what()};
    return std::nullopt;
  }
}

// Adds FLOPs and, if the operator knows them, bytes. Leaves out FLOPs if the implementation's name,
// as benchdnn prints it, does not tell the pipe.
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

record::Record RecordOf(const PerfLine& line, const std::string& place,
                        std::optional<Reason>& reason) {
  const auto problem = line.Text("%prb%");
  if (!problem || problem->empty())
    throw BadInput(place +
                   ": expected a problem (%prb%), but the template has none: run benchdnn with "
                   "--perf-template=def");
  // A problem has no comma before a number: if there is one, the line has too many fields.
  const auto comma = problem->rfind(',');
  if (comma != problem->npos && text::PlainNumber(problem->substr(comma + 1)))
    throw BadInput(place +
                   ": more fields than the output template has: its numbers have decimal "
                   "commas (run benchdnn with LC_ALL=C)");
  std::optional<double> milliseconds;
  for (const char* key : {"%0time%", "%-time%", "%time%"})
    if (!milliseconds) milliseconds = line.Number(key);
  if (!milliseconds || !imports::IsRunTime(*milliseconds * 1e-3))
    throw BadInput(place + ": expected a time above 0 (%0time% or %-time%)");
  record::Record record;
  const bool cpu = line.Text("%engine%").value_or("cpu") == "cpu";
  const auto name = cpu ? NameOf(std::string(*problem), reason) : std::optional<std::string>();
  record.name = name.value_or(std::string(*problem));
  record.algorithm = line.Text("%impl%").value_or("");
  record.repetitions.push_back({.seconds = *milliseconds * 1e-3, .iterations = 1});
  if (!cpu) {
    record.device = "gpu";
    reason = Reason{"its work is not known, since it ran on a GPU"};
  }
  if (!name) return record;
  record::SplitName(record);
  record.cache = "warm";
  record.repro = std::string(*problem);
  AddWork(line.Number("%Gops%"), record);
  return record;
}

}  // namespace

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
    const auto line = text::TakeLine(rest);
    ++number;
    const auto place = fmt::format("{}:{}", where, number);
    const auto* const word = std::ranges::find_if(
        kTemplates, [&](std::string_view words) { return line.starts_with(words); });
    const bool of_names = std::exchange(names_follow, word == &kTemplates[1]) &&
                          std::ranges::none_of(logs::SplitText(line, ','), [](auto field) {
                            return text::PlainNumber(field).has_value();
                          });
    if (word != std::end(kTemplates)) {
      layout.assign(line.substr(word->size()));
      names = FieldsOf(layout);
      AddUnknown(names, unknown);
    } else if (line.starts_with(kPerf) && !of_names) {
      left_out.Try([&] {
        if (!text::IsUtf8(line) || line.find('\0') != std::string_view::npos)
          throw BadInput(place + ": not UTF-8 text");
        std::optional<Reason> reason;
        record::Record record = RecordOf(ReadPerfLine(line, number, names, where), place, reason);
        for (const auto& note : record.counting)
          imported.remarks.push_back(fmt::format("{}: {}", place, note.text));
        const auto same = std::ranges::find(imported.records, record.name, &record::Record::name);
        if (same == imported.records.end())
          imported.records.push_back(std::move(record));
        else
          same->repetitions.push_back(record.repetitions.at(0));
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

}  // namespace dlroof::profile
