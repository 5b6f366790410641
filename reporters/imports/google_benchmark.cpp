// Reader of Google Benchmark's JSON (import.h), by record::ParseRunFile.
#include "reporters/record/google_benchmark.h"

#include <fmt/format.h>

#include <sstream>

#include "reporters/imports/import.h"

namespace dlroof::imports {
namespace {

// Returns the texts of the notes on work from rates, each with the number of records that have it.
std::map<std::string, int> Notes(const std::vector<record::Record>& records) {
  std::map<std::string, int> notes;
  for (const auto& record : records)
    for (const auto& note : record.counting)
      if (note.source == record::kRateSource) ++notes[note.text];
  return notes;
}

}  // namespace

Imported ImportGoogleBenchmark(const std::string& text, const std::string& where) {
  std::ostringstream warnings;
  auto run = record::ParseRunFile(text, where, warnings);
  Imported imported;
  imported.records = std::move(run.records);
  std::istringstream lines(warnings.str());
  for (std::string line; std::getline(lines, line);) imported.remarks.push_back(line);
  for (auto& record : imported.records) record::PutOnDevice(record, "");
  for (const auto& [note, records] : Notes(imported.records))
    imported.Say("{}: {} benchmarks: {}", where, records, note);
  bool has_work = false;
  for (const auto& record : imported.records)
    for (const auto& [from, work] : record.work)
      has_work = has_work || !work.flops.empty() || !work.bytes.empty();
  if (!has_work)
    imported.Say(
        "{}: no benchmark has work: expected counters such as FLOPS, bytes_per_second or "
        "modelled/flops/fp32.vector (importing.md), or --flops-per-item",
        where);
  return imported;
}

void SetPipeOfRates(const std::string& pipe, std::vector<record::Record>& records) {
  for (auto& record : records) {
    if (Notes({record}).empty()) continue;
    for (auto& [from, work] : record.work)
      if (const auto flops = TotalFlops(work)) work.flops = {{pipe, *flops}};
    for (auto& note : record.counting)
      if (note.source == record::kRateSource && note.text.starts_with("FLOPs"))
        note.text = fmt::format("FLOPs that the benchmark's author declares, on {} (--pipe)", pipe);
  }
}

std::size_t AddFlopsOfItems(const std::string& text, const std::string& where, ItemWork item,
                            std::vector<record::Record>& records) {
  const auto items = record::ItemsIn(text, where);
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
