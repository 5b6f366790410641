#include "tests/reporters/imports/variants.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "bench/profile/profile.h"
#include "counters/base/files.h"
#include "reporters/imports/import.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
#include "reporters/text/numbers.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;
using Records = std::map<std::string, Numbers>;

// Variants (variants.h) of tables and logs.

Outcome ReadLog(const std::string& text) {
  const auto plain = text::WithoutByteOrder(text);
  const auto log = logs::ReadVerboseLog(plain);
  Outcome outcome;
  for (const auto& execution : log.executions)
    outcome.numbers["executions"].push_back(execution.seconds);
  for (const auto& creation : log.creations)
    outcome.numbers["creations"].push_back(creation.seconds);
  for (const auto& execution : log.executions)
    if (execution.start_seconds) outcome.numbers["starts"].push_back(*execution.start_seconds);
  for (auto& [name, values] : outcome.numbers) std::ranges::sort(values);
  for (const auto& refused : log.lines.refused) outcome.remarks.insert(refused.reason);
  if (!plain.empty() && plain.back() != '\n') outcome.remarks.insert("no line end");
  return outcome;
}

std::string Written(const std::vector<text::CsvRow>& rows, const Style& style) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto& cell = row[i].text;
      const bool special = cell.find_first_of("\",;\t") != std::string::npos;
      std::string shown = cell;
      for (std::size_t at = 0; (at = shown.find('"', at)) != std::string::npos; at += 2)
        shown.insert(at, 1, '"');
      if (i > 0) text += style.separator;
      text += style.quoted || special ? fmt::format("\"{}\"", shown) : shown;
    }
    text += '\n';
  }
  return text;
}

// Splits a text into the lines before its table and the table.
std::pair<std::string, std::vector<text::CsvRow>> TableOf(const std::string& text) {
  const auto at = text.starts_with("==PROF==") ? text.find("\"ID\"")
                  : text.starts_with('#')      ? text.find('\n') + 1
                                               : 0;
  return {text.substr(0, at), text::ReadCsv(std::string_view(text).substr(at), "sample")};
}

const Style& AnyStyle(Random& random, bool quoted) {
  static const Style styles[] = {
      {',', '.', "", true},          {',', '.', ",", true},  {',', ',', ".", true},
      {',', ',', "", true},          {';', ',', "", false},  {';', ',', ".", false},
      {'\t', '.', "", false},        {'\t', ',', "'", true}, {',', '.', "'", true},
      {';', ',', "\xC2\xA0", false}, {';', '.', "", false},  {',', ',', "\xE2\x80\xAF", true}};
  const auto& style = styles[Below(random, std::size(styles))];
  return quoted && !style.quoted ? styles[Below(random, 4)] : style;
}

constexpr std::string_view kUnits[][2] = {{"Mbyte", "byte"},      {"Mbyte", "Kbyte"},
                                          {"usecond", "nsecond"}, {"usecond", "msecond"},
                                          {"usecond", "us"},      {"usecond", "furlong"}};

// Expresses the values of a unit in another one. An unknown one must be refused.
void ChangeUnit(std::vector<text::CsvRow>& rows, Random& random) {
  const auto& [from, to] = kUnits[Below(random, std::size(kUnits))];
  const auto factor =
      text::ReadUnit(from)->factor / text::ReadUnit(to).value_or(text::Unit{}).factor;
  const auto scale = [&](std::string& cell) {
    cell = fmt::format("{}", *text::NumberIn(cell, text::DecimalMark::kPoint) * factor);
  };
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      if (rows[i][j].text != from) continue;
      rows[i][j].text = to;
      const bool below = i == 1 && rows[i][0].text.empty();
      if (!below && j + 1 < rows[i].size()) scale(rows[i][j + 1].text);
      for (std::size_t k = 2; below && k < rows.size(); ++k) scale(rows[k][j].text);
    }
}

void ChangeColumns(std::vector<text::CsvRow>& rows, Random& random, bool& loses) {
  const auto column = Below(random, rows[0].size());
  const bool drop = random() % 2 == 0;
  loses = loses || drop;
  for (auto& row : rows) {
    if (column >= row.size()) continue;
    const auto at = row.begin() + static_cast<std::ptrdiff_t>(column);
    if (drop)
      row.erase(at);
    else
      row.insert(at, {&row == &rows[0] ? "an unknown column" : "7", row[0].line, 1});
  }
}

// Doubles a row, which only files of repetitions may have.
void ChangeRows(std::vector<text::CsvRow>& rows, Random& random, bool repetitions) {
  const bool units = rows.size() > 1 && rows[1][0].text.empty();
  const std::size_t first = units ? 2 : 1;
  if (rows.size() <= first + 1) return;
  if (random() % 2 == 0 && !repetitions) {
    rows.push_back(rows[first + Below(random, rows.size() - first)]);
  } else if (rows[0][0].text != "STRUCT") {
    std::shuffle(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(), random);
  }
}

Variant TableVariant(const std::string& text, bool quoted, Random& random) {
  Variant variant;
  auto [before, rows] = TableOf(text);
  const bool own = rows[0][0].text == "name";
  const bool ncu = rows[0][0].text == "ID";
  if (ncu && random() % 3 == 0) ChangeUnit(rows, random);
  if (!own && !ncu && random() % 3 == 0) ChangeRows(rows, random, false);
  if ((own || ncu) && random() % 3 == 0) ChangeRows(rows, random, own);
  if ((own || ncu) && random() % 3 == 0) ChangeColumns(rows, random, variant.loses);
  const auto style = AnyStyle(random, quoted);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (std::size_t j = own || !ncu ? 1 : 11; j < rows[i].size(); ++j)
      if (rows[i][0].text != "TABLE" && IsNumber(rows[i][j].text))
        rows[i][j].text = Rewritten(rows[i][j].text, style);
  variant.text = before + Written(rows, style);
  ChangeBytes(variant, random);
  return variant;
}

// Returns the line as other versions of oneDNN begin it.
std::string OfVersion(std::string line, std::size_t version) {
  constexpr std::string_view kNow = "onednn_verbose,v1,";
  constexpr std::string_view kBefore[] = {"onednn_verbose,", "dnnl_verbose,"};  // to 3.4, to 2.4
  if (version < std::size(kBefore) && line.starts_with(kNow))
    line.replace(0, kNow.size(), kBefore[version]);
  return line;
}

// Prefixes, versions, decimal commas and line ends of logs.
Variant LogVariant(const std::string& text, Random& random) {
  Variant variant;
  const auto version = Below(random, 6);
  const bool comma = random() % 2 == 0, prefixed = random() % 3 == 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    auto line = OfVersion(text.substr(at, end - at), version);
    at = end + 1;
    const auto field = line.rfind(',') + 1;
    const auto time = line.substr(field);
    if (comma && text::PlainNumber(time)) {
      line.resize(field);
      line += Rewritten(time, {.decimal = ','});
    }
    variant.text += (prefixed ? "[rank 0] " : "") + line + '\n';
  }
  ChangeBytes(variant, random);
  return variant;
}

// `quoted`: the table's values are in quotes.
template <Imported (*kRead)(const std::string&, const std::string&)>
void TryTable(const char* file, bool quoted) {
  const auto text = FileText(file);
  Try({file, text, Importing<kRead>,
       [=](Random& random) { return TableVariant(text, quoted, random); }});
}

void TryLogText(const std::string& name, const std::string& text,
                Outcome (*read)(const std::string&)) {
  Try({name, text, read, [=](Random& random) { return LogVariant(text, random); }});
}

void TryLog(const char* file, Outcome (*read)(const std::string&)) {
  TryLogText(file, FileText(file), read);
}

TEST(Variants, OwnCsv) { TryTable<ImportOwnCsv>("import_small.csv", false); }
TEST(Variants, NsightComputeRaw) { TryTable<ImportNsightCompute>("import_ncu_raw.csv", true); }
TEST(Variants, NsightComputeDetailsAndDecimalComma) {
  TryTable<ImportNsightCompute>("import_ncu_details.csv", true);
  TryLog("import_ncu_comma.csv", Importing<ImportNsightCompute>);
}
TEST(Variants, Likwid) { TryTable<ImportLikwid>("import_likwid.csv", false); }
TEST(Variants, Benchdnn) {
  for (const char* file : {"import_benchdnn.txt", "import_benchdnn_resnet50.txt"})
    TryLog(file, Importing<profile::ImportBenchdnn>);
  TryLogText("benchdnn with the time at the end",
             "Output template: perf,%prb%,%Gops%,%0time%\n"
             "perf,--matmul 64x256:256x128,0.004194,0.5125\n"
             "perf,--matmul 64x256:256x256,0.008389,0.8125\n",
             Importing<profile::ImportBenchdnn>);
}
TEST(Variants, LogsOfOneDnn) {
  for (const char* file :
       {"onednn_verbose/pt_lstm_inf.onednn.log", "onednn_verbose/debian_torch113_conv_v2.6.3.log",
        "onednn_verbose/xpu_graph.log", "onednn_verbose/pt_bert_graph_inf.onednn.log"})
    TryLog(file, ReadLog);
}

// One item of a file is deleted, doubled, given another type or another name. The file is read, and
// no number of another record changes. DLROOF_VARIANTS sets the number of files of each sample
// (4,600: 10^5 files in all).

struct ItemSample {
  std::string name, text;
  std::function<Imported(const std::string&)> read;
  std::function<std::string(Random&)> edit;  // returns the text with one edit
};

Records RecordsOf(Imported imported) {
  Records records;
  if (imported.machine)
    for (const auto& [threads, set] : imported.machine->by_threads) {
      for (const auto& [pipe, ceiling] : set.flops) records[pipe]["rate"] = {ceiling.per_second};
      for (const auto& [level, ceiling] : set.bytes)
        records[fmt::format("level {}", static_cast<int>(level))]["rate"] = {ceiling.per_second};
    }
  for (auto& record : imported.records) {
    auto& numbers = records[record.name];
    for (auto& [name, values] : OutcomeOf({.records = {record}}).numbers)
      std::ranges::copy(values, std::back_inserter(numbers[name]));
  }
  return records;
}

void TryItems(const ItemSample& sample) {
  const auto original = RecordsOf(sample.read(sample.text));
  ASSERT_GE(original.size(), 2U) << sample.name;
  Random random(55);
  const int files = fakes::Asked("DLROOF_VARIANTS", 300);
  int changed = 0;
  for (int i = 0; i < files; ++i) {
    const auto text = sample.edit(random);
    Records read;
    try {
      read = RecordsOf(sample.read(text));
    } catch (const BadInput& error) {
      FAIL() << sample.name << " is refused: " << error.what() << "\n" << text;
    }
    std::set<std::string> touched;
    for (const auto& [name, numbers] : original) {
      const auto found = read.find(name);
      if (found == read.end() || !Difference(numbers, found->second, false).empty())
        touched.insert(name);
    }
    changed += touched.empty() ? 0 : 1;
    ASSERT_LE(touched.size(), 1U) << sample.name << ": " << *touched.begin() << ", "
                                  << *touched.rbegin() << "\n"
                                  << text;
  }
  EXPECT_GT(changed, files / 20) << sample.name;
}

const std::vector<std::string>& OtherTypes() {
  static const std::vector<std::string> types = {"",      "abc", "-1",  "1e999", "nan", "{}",
                                                 "1.2.3", "-",   "0",   "1,5",   "inf", "\"x\"",
                                                 "null",  "1 2", "0x1", "9e99"};
  return types;
}

// Lines `first` and later are items; so are their cells, but those of the columns `fixed`.
std::string EditedLines(const std::string& text, std::size_t first, char separator,
                        const std::set<std::size_t>& fixed, Random& random) {
  std::vector<std::string> lines;
  for (const auto line : logs::SplitText(text, '\n')) lines.emplace_back(line);
  const auto at = first + Below(random, lines.size() - 1 - first);
  auto& line = lines[at];
  const auto kind = Below(random, 4);
  if (kind == 0) {
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (kind == 1) {
    const auto copy = line;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), copy);
  } else {
    if (line.empty()) return text;
    auto row = text::ReadCsv(line, "a line", separator).at(0);
    const auto cell = Below(random, row.size());
    const auto other = kind == 2 ? AnyOf(OtherTypes(), random) : row[cell].text + "_zzz";
    const bool quoted = line.starts_with('"') && line.ends_with('"');
    if (fixed.contains(cell) || (!quoted && other.find(separator) != other.npos)) return text;
    row[cell].text = other;
    line = Written({row}, {.separator = separator, .quoted = quoted});
    line.pop_back();
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

void Collect(json& at, std::vector<std::pair<json*, std::string>>& places) {
  for (auto it = at.begin(); it != at.end(); ++it) {
    places.emplace_back(&at, at.is_object() ? it.key() : std::to_string(it - at.begin()));
    if (it->is_structured()) Collect(*it, places);
  }
}

// Edits a place within an element of the array at `list`, or within one of the array `inner` of
// that.
std::string EditedJson(const json& original, const std::string& list, const std::string& inner,
                       Random& random) {
  json file = original;
  std::vector<std::pair<json*, std::string>> places;
  const auto descend = [&](json* array) {
    const auto at = Below(random, array->size());
    places = {{array, std::to_string(at)}};
    return &(*array)[at];
  };
  json* element = descend(&file.at(json::json_pointer(list)));
  if (!inner.empty()) element = descend(&(*element)[inner]);
  Collect(*element, places);
  auto& [parent, key] = places[Below(random, places.size())];
  const auto kind = Below(random, 4);
  const auto index = parent->is_array() ? std::stoul(key) : 0;
  if (kind == 0) {
    parent->is_array() ? parent->erase(index) : static_cast<void>(parent->erase(key));
  } else if (kind == 1 && parent->is_array()) {
    parent->push_back(parent->at(index));
  } else if (kind == 1) {
    const json copy = parent->at(key);
    (*parent)["zzz_" + key] = copy;
    auto text = file.dump(1);
    const auto at = text.find("\"zzz_" + key);
    return text.erase(at + 1, 4);
  } else if (kind == 2) {
    const json types[] = {nullptr, "abc", -1, true, json::array(), json::object(), "1.5", 1e300, 0};
    (parent->is_array() ? parent->at(index) : parent->at(key)) =
        types[Below(random, std::size(types))];
  } else if (parent->is_object()) {
    json value = parent->at(key);
    parent->erase(key);
    (*parent)[key + "_zzz"] = std::move(value);
  }
  return file.dump(1);
}

void TryLines(const std::string& name, const std::string& text, std::size_t first,
              const std::set<std::size_t>& fixed = {}, char separator = ',',
              const std::function<Imported(const std::string&)>& read = With<ReadAny>) {
  TryItems({name, text, read,
            [=](Random& random) { return EditedLines(text, first, separator, fixed, random); }});
}

void TryJson(const std::string& name, const std::string& text, const std::string& list,
             const std::string& inner = "",
             const std::function<Imported(const std::string&)>& read = With<ReadAny>) {
  const auto file = json::parse(text);
  TryItems({name, file.dump(1), read,
            [=](Random& random) { return EditedJson(file, list, inner, random); }});
}

// Returns the text followed by its lines below line `first` with another word for a name.
std::string Twice(std::string text, std::size_t first, const std::string& word,
                  const std::string& other) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < first; ++i) at = text.find('\n', at) + 1;
  auto more = text.substr(at);
  for (at = 0; (at = more.find(word, at)) != more.npos; at += other.size())
    more.replace(at, word.size(), other);
  return text + more;
}

// A log's executed primitives by their text, with their work.
Imported LogRecords(const std::string& text) {
  Imported imported;
  const auto log = logs::ReadVerboseLog(text);
  for (const auto& primitive : log.primitives) {
    record::Record record{
        .name = fmt::format("{} {} {} {} {}", primitive.kind, primitive.prop, primitive.tensors,
                            primitive.attributes, primitive.problem) +
                primitive.auxiliary + primitive.implementation + primitive.engine};
    const auto work = logs::WorkOf(logs::ReadPrimitive(primitive));
    auto& counts = record.work[Provenance::kModelled];
    if (work.matrix) counts.flops["fp32.vector"] = *work.matrix + *work.elementwise;
    if (work.bytes) counts.bytes[Level::kDram] = *work.bytes;
    imported.records.push_back(record);
  }
  for (const auto& execution : log.executions)
    imported.records[execution.primitive].repetitions.push_back(
        {.seconds = execution.seconds, .iterations = 1});
  return imported;
}

TEST(OneItem, OwnCsv) { TryLines("csv", FileText("import_small.csv"), 2); }
TEST(OneItem, NsightCompute) {
  TryLines("ncu raw", FileText("import_ncu_raw.csv"), 5, {9});
  TryLines("ncu details", Twice(FileText("import_ncu_details.csv"), 1, "axpy", "other"), 3, {9});
}
TEST(OneItem, Likwid) {
  TryLines("likwid", Twice(FileText("import_likwid.csv"), 4, "triad", "sum"), 2);
}
TEST(OneItem, Ert) { TryJson("ert", FileText("import_ert.json"), "/empirical/gflops/data"); }
TEST(OneItem, Nvbench) {
  TryJson("nvbench", FileText("import_nvbench.json"), "/benchmarks", "states");
}
TEST(OneItem, GoogleBenchmark) {
  for (const char* name : {"google_benchmark_1.7.1.json", "google_benchmark_1.9.1.json"})
    TryJson(name, record::RepairedJson(FileText(name)).value_or(FileText(name)), "/benchmarks");
}
TEST(OneItem, Proton) {
  TryJson(
      "proton",
      R"json([{"frame": {"name": "ROOT"}, "metrics": {"count": 0, "time (ns)": 0}, "children": [{"frame": {"name": "a"}, "metrics": {"count": 3, "time (ns)": 6000, "flops16": 1e9, "bytes": 1e6}, "children": []}, {"frame": {"name": "b"}, "metrics": {"count": 1, "time (ns)": 500}, "children": []}]}])json",
      "", "children");
}
TEST(OneItem, Benchdnn) {
  TryLines("benchdnn", FileText("import_benchdnn.txt"), 1, {}, ',', With<profile::ImportBenchdnn>);
}
TEST(OneItem, Trace) {
  auto file = json::parse(FileText("import_kineto_2021.json"));
  std::erase_if(file["traceEvents"].get_ref<json::array_t&>(),
                [](const json& event) { return event.value("cat", "") != "Kernel"; });
  TryJson("kineto", file.dump(), "/traceEvents");
}
TEST(OneItem, LogsOfOneDnn) {
  TryLines("onednn", FileText("onednn_verbose/pt_lstm_inf.onednn.log"), 12, {}, ',', LogRecords);
}

}  // namespace
}  // namespace dlroof::imports
