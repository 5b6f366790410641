// One item of a file is deleted, doubled, given another type or another name. The file is read, and
// no number of another record changes. DLROOF_VARIANTS sets the number of files of each sample
// (4,600: 10^5 files in all).
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/profile/profile.h"
#include "reporters/logs/primitive.h"
#include "reporters/logs/verbose_log.h"
#include "reporters/record/large_json.h"
#include "tests/reporters/imports/variants.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;
using Records = std::map<std::string, Numbers>;

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
  const int files = VariantsOf(300);
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

const std::string& AnyOf(const std::vector<std::string>& texts, Random& random) {
  return texts[Below(random, texts.size())];
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
    std::vector<std::string> cells;
    for (std::size_t begin = 0, i = 0, quotes = 0; i <= line.size(); ++i) {
      quotes += i < line.size() && line[i] == '"' ? 1 : 0;
      if (i < line.size() && (line[i] != separator || quotes % 2 == 1)) continue;
      cells.push_back(line.substr(begin, i - begin));
      begin = i + 1;
    }
    const auto cell = Below(random, cells.size());
    if (fixed.contains(cell)) return text;
    auto& edited = cells[cell];
    const bool quoted = edited.starts_with('"');
    if (kind == 2)
      edited = AnyOf(OtherTypes(), random);
    else
      edited = (quoted ? edited.substr(1, edited.size() - 2) : edited) + "_zzz";
    if (quoted) edited = '"' + edited + '"';
    line.clear();
    for (std::size_t i = 0; i < cells.size(); ++i)
      line += (i > 0 ? std::string(1, separator) : "") + cells[i];
  }
  std::string joined;
  for (std::size_t i = 0; i < lines.size(); ++i)
    joined += lines[i] + (i + 1 < lines.size() ? "\n" : "");
  return joined;
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
  json* element = &file.at(json::json_pointer(list));
  const auto descend = [&](json* array) { return &(*array)[Below(random, array->size())]; };
  json holder = json::array();
  element = descend(element);
  if (!inner.empty()) element = descend(&(*element)[inner]);
  std::vector<std::pair<json*, std::string>> places;
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

// Reads a text by the first format that recognises it.
Imported Recognised(const std::string& text) {
  for (const auto& format : ImportFormats())
    if (format.recognise(text)) return format.read(text, "file");
  throw BadInput("unknown format");
}

void TryLines(const std::string& name, const std::string& text,
              const std::function<Imported(const std::string&)>& read, std::size_t first,
              const std::set<std::size_t>& fixed = {}, char separator = ',') {
  TryItems({name, text, read,
            [=](Random& random) { return EditedLines(text, first, separator, fixed, random); }});
}

void TryJson(const std::string& name, const std::string& text, const std::string& list,
             const std::string& inner = "",
             const std::function<Imported(const std::string&)>& read = Recognised) {
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
Imported ReadLog(const std::string& text) {
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

TEST(OneItem, OwnCsv) { TryLines("csv", FileText("import_small.csv"), Recognised, 2); }
TEST(OneItem, NsightCompute) {
  TryLines("ncu raw", FileText("import_ncu_raw.csv"), Recognised, 5, {9});
  TryLines("ncu details", Twice(FileText("import_ncu_details.csv"), 1, "axpy", "other"), Recognised,
           3, {9});
}
TEST(OneItem, Likwid) {
  TryLines("likwid", Twice(FileText("import_likwid.csv"), 4, "triad", "sum"), Recognised, 2);
}
TEST(OneItem, Ert) { TryJson("ert", FileText("import_ert.json"), "/empirical/gflops/data"); }
TEST(OneItem, Nvbench) {
  TryJson("nvbench", FileText("import_nvbench.json"), "/benchmarks", "states");
}
TEST(OneItem, GoogleBenchmark) {
  for (const char* name : {"google_benchmark_1.7.1.json", "google_benchmark_1.9.1.json"})
    TryJson(name, record::RepairedJson(FileText(name)).value_or(FileText(name)), "/benchmarks");
}
TEST(OneItem, GoogleBenchmarkTables) {
  TryLines("gbench csv",
           "name,iterations,real_time,cpu_time,time_unit,bytes_per_second,items_per_second,label,"
           "error_occurred,error_message\n"
           "\"BM_A\",1000,100.5,99.5,ns,1e9,,,,\n\"BM_B\",2000,200,199,ns,2e9,,,,\n\"BM_C\",3000,"
           "300,299,us,3e9,,,,\n",
           Recognised, 1);
  TryLines("gbench console",
           "Run on (2 X 2000 MHz CPUs)\n-----------------\nBenchmark   Time   CPU   "
           "Iterations\n-----------------\n"
           "BM_A        100 ns          99 ns      1000\nBM_B        200 ns         199 ns      "
           "2000 bytes_per_second=1.5G/s\n"
           "BM_C        300 us         299 us      3000 FLOPS=2.5G/s\n",
           Recognised, 4, {}, ' ');
}
TEST(OneItem, ToolTables) {
  TryLines("nsys",
           "Time (%),Total Time (ns),Instances,Avg (ns),Name\n62.5,1250000,10,125000.0,\"k<f, "
           "1>\"\n30,600000,6,100000.0,b\n7,1000,1,1000,c\n",
           Recognised, 1);
  TryLines("nsys trace", "Start (ns),Duration (ns),CorrId,Name\n1,1000,1,a\n9,500,2,b\n19,7,3,c\n",
           Recognised, 1);
  TryLines("rocprofv3",
           "Kernel_Name,Start_Timestamp,End_Timestamp\na,1000,3500\nb,4000,4500\nc,5000,5001\n",
           Recognised, 1);
  TryLines("cutlass",
           "Problem,Provider,OperationKind,Operation,Status,m,n,k,Bytes,Flops,Runtime,GB/"
           "s,GFLOPs\n1,CUTLASS,gemm,g1,passed,8,8,8,10,20,0.5,1,2\n2,CUTLASS,gemm,g2,passed,8,8,"
           "16,10,20,0.25,1,2\n3,CUTLASS,gemm,g3,passed,8,16,8,10,20,0.125,1,2\n",
           Recognised, 1);
  TryJson(
      "pytest",
      R"json({"machine_info": {}, "benchmarks": [{"fullname": "a", "stats": {"median": 0.5, "data": [0.5, 0.6]}}, {"fullname": "b", "stats": {"median": 0.25, "data": [0.25]}}]})json",
      "/benchmarks");
  TryJson(
      "hyperfine",
      R"json({"results": [{"command": "a", "mean": 0.5, "times": [0.5, 0.6]}, {"command": "b", "mean": 0.25, "times": [0.25]}]})json",
      "/results");
  TryJson(
      "llama",
      R"json([{"model_filename": "m", "n_prompt": 1, "n_gen": 0, "avg_ns": 500, "samples_ns": [500, 600]}, {"model_filename": "m", "n_prompt": 2, "n_gen": 0, "avg_ns": 900, "samples_ns": [900]}])json",
      "");
  TryJson(
      "proton",
      R"json([{"frame": {"name": "ROOT"}, "metrics": {"count": 0, "time (ns)": 0}, "children": [{"frame": {"name": "a"}, "metrics": {"count": 3, "time (ns)": 6000, "flops16": 1e9, "bytes": 1e6}, "children": []}, {"frame": {"name": "b"}, "metrics": {"count": 1, "time (ns)": 500}, "children": []}]}])json",
      "", "children");
}
TEST(OneItem, Benchdnn) {
  TryLines("benchdnn", FileText("import_benchdnn.txt"), With<profile::ImportBenchdnn>, 1);
}
TEST(OneItem, Trace) {
  auto file = json::parse(FileText("import_kineto_2021.json"));
  std::erase_if(file["traceEvents"].get_ref<json::array_t&>(),
                [](const json& event) { return event.value("cat", "") != "Kernel"; });
  TryJson("kineto", file.dump(), "/traceEvents");
}
TEST(OneItem, LogsOfOneDnn) {
  TryLines("onednn", FileText("onednn_verbose/pt_lstm_inf.onednn.log"), ReadLog, 12);
}

}  // namespace
}  // namespace dlroof::imports
