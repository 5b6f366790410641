// Google Benchmark's JSON (import.h): a run file's reader reads it; here its rates become work.
#include "reporters/record/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "counters/base/error.h"
#include "reporters/imports/import.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

constexpr const char* kItemsRate = "items_per_second";

bool HasNoteOfRates(const record::Record& record) {
  return std::ranges::any_of(
      record.counting, [](const CountingNote& note) { return note.source == record::kRateSource; });
}

bool HasFlopsOrBytes(const record::Record& record) {
  return std::ranges::any_of(record.work, [](const auto& work) {
    return !work.second.flops.empty() || !work.second.bytes.empty();
  });
}

// Returns the notes of the records, each once with the number of records.
std::map<std::string, int> Notes(const std::vector<record::Record>& records) {
  std::map<std::string, int> notes;
  for (const auto& record : records)
    for (const auto& note : record.counting)
      if (note.source == record::kRateSource) ++notes[note.text];
  return notes;
}

// Returns the items per call of each benchmark by its name.
std::map<std::string, double> ItemsPerCall(const std::string& text, const std::string& where) {
  std::vector<record::Entry> entries;
  simdjson::dom::parser parser;
  const record::JsonPlace file{nullptr, where};
  const auto lines =
      nlohmann::json::accept(text) ? std::nullopt : record::RepairedBenchmarkLines(text, where);
  std::istringstream in(lines ? lines->json : text);
  const auto skeleton = record::EachJsonElement(
      in, [&](std::string_view key, std::size_t index, std::string_view text_of_entry) {
        if (key != "benchmarks") return;
        const std::string json =
            record::RepairedJson(text_of_entry).value_or(std::string(text_of_entry));
        const auto element = parser.parse(json);
        if (element.error()) return;
        const record::JsonPlace place{&file, key, index};
        try {
          const auto read = record::FileEntryFromJson({element.value_unsafe(), place});
          if (read && !read->entry.skipped) entries.push_back(read->entry);
        } catch (const BadInput&) {  // left out by the reader of the records, with a remark
        }
      });
  const auto whole = nlohmann::json::parse(skeleton.text, nullptr, false);
  const auto rule = record::ThreadRuleOf(record::Member(whole, "context"));
  std::map<std::string, double> items;
  for (auto& entry : entries) {
    const auto seconds = record::ApplyThreadRule(rule, entry.name, entry);
    const auto rate = entry.counters.find(kItemsRate);
    if (rate != entry.counters.end() && seconds && rate->second > 0)
      items.emplace(entry.name, rate->second * *seconds);
  }
  return items;
}

void MoveFlops(const std::string& pipe, record::Record& record) {
  for (auto& [from, work] : record.work) {
    const auto flops = TotalFlops(work);
    if (flops) work.flops = {{pipe, *flops}};
  }
  for (auto& note : record.counting)
    if (note.source == record::kRateSource && note.text.starts_with("FLOPs"))
      note.text = fmt::format("FLOPs that the benchmark's author declares, on {} (--pipe)", pipe);
}

}  // namespace

bool LooksLikeGoogleBenchmark(std::string_view text) {
  return text.find("\"benchmarks\"") != std::string_view::npos &&
         text.find("\"real_time\"") != std::string_view::npos;
}

Imported ImportGoogleBenchmark(const std::string& text, const std::string& where) {
  std::ostringstream warnings;
  auto run = record::ParseRunFile(text, where, warnings);
  Imported imported;
  imported.records = std::move(run.records);
  std::istringstream lines(warnings.str());
  for (std::string line; std::getline(lines, line);) imported.remarks.push_back(line);
  for (auto& record : imported.records) record::PutOnDevice(record, "");
  for (const auto& [note, records] : Notes(imported.records))
    imported.remarks.push_back(fmt::format("{}: {} benchmarks: {}", where, records, note));
  if (std::ranges::none_of(imported.records, HasFlopsOrBytes))
    imported.remarks.push_back(
        where +
        ": no benchmark has work: expected counters such as FLOPS, bytes_per_second or "
        "modelled/flops/fp32.vector (importing.md), or --flops-per-item");
  return imported;
}

void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records) {
  for (auto& record : records)
    if (HasNoteOfRates(record)) MoveFlops(pipe, record);
}

std::size_t AddFlopsOfItems(const std::string& text, const std::string& where, ItemWork item,
                            std::vector<record::Record>& records) {
  const auto items = ItemsPerCall(text, where);
  std::size_t added = 0;
  for (auto& record : records) {
    const auto found = items.find(record.name);
    if (found == items.end()) continue;
    record.work[Provenance::kModelled].flops = {{item.pipe, found->second * item.flops}};
    record.counting.push_back(
        {std::string(record::kRateSource), Provenance::kModelled,
         fmt::format("FLOPs: {} per item (items_per_second), on {}", item.flops, item.pipe)});
    ++added;
  }
  return added;
}

}  // namespace dlroof::imports
