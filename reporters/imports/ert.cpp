// Reader of the Empirical Roofline Toolkit's roofline.json (import.h): rates in 1e9 per second.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/numbers.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

// Older versions write "GFLOPs" for fp64. The toolkit's tensor-core kernel has fp16 operands.
constexpr std::pair<std::string_view, std::string_view> kPipes[] = {
    {"GFLOPs", "fp64.vector"},      {"FP64 GFLOPs", "fp64.vector"},
    {"FP32 GFLOPs", "fp32.vector"}, {"FP16 GFLOPs", "fp16.vector"},
    {"TC GFLOPs", "fp16.matrix"},   {"Tensor GFLOPs", "fp16.matrix"}};
constexpr std::pair<std::string_view, Level> kLevels[] = {
    {"L1", Level::kL1}, {"L2", Level::kL2}, {"L3", Level::kL3}, {"DRAM", Level::kDram}};

constexpr double kMaxCount = 1000000;

machine::Ceiling CeilingOf(double per_second, int threads) {
  machine::Ceiling ceiling{.per_second = per_second, .threads = threads};
  ceiling.how = "the Empirical Roofline Toolkit's best repetition and configuration";
  ceiling.status = machine::CeilingStatus::kSpecified;
  return ceiling;
}

// Returns the count `key` of the metadata, a number or a text, or 1 if it is missing.
int CountOf(const json& metadata, const char* key, const std::string& where) {
  if (!metadata.is_object() || !metadata.contains(key)) return 1;
  const json& value = metadata.at(key);
  const auto count = value.is_string()   ? text::PlainNumber(value.get<std::string>())
                     : value.is_number() ? std::optional(value.get<double>())
                                         : std::nullopt;
  if (!count || *count < 1 || *count > kMaxCount || *count != std::floor(*count))
    throw BadInput("{}: metadata: '{}': expected a count of at least 1, got {}", where, key,
                   text::Printable(value.dump().substr(0, 40)));
  return static_cast<int>(*count);
}

// Returns the number of threads (processes times threads per process) with which the toolkit
// reached the best rates of `part` ("gflops" or "gbytes"), or the file's overall number if that is
// larger.
int ThreadsOf(const JsonReader& empirical, const char* part) {
  int threads = 1;
  for (const char* place : {"metadata", part}) {
    if (!empirical.Has(place) || !empirical.json().at(place).is_object()) continue;
    const json& own = empirical.json().at(place);
    const json& metadata = own.contains("metadata") ? own.at("metadata") : own;
    const auto count = [&](const char* key) { return CountOf(metadata, key, empirical.where()); };
    const double all = 1.0 * count("MPI_PROCS") * count("OPENMP_THREADS");
    threads = std::max(threads, static_cast<int>(std::min(all, kMaxCount)));
  }
  return threads;
}

// Reads the pairs [name, rate in 1e9 per second] in "data" of "gflops" and "gbytes".
void ReadRates(const JsonReader& empirical, machine::CeilingSet& set,
               std::vector<std::string>& unknown, LeftOut& left_out) {
  const auto read = [&]<class Key>(const char* key, const auto& known,
                                   std::map<Key, machine::Ceiling>& ceilings) {
    const JsonReader part = empirical.Object(key);
    for (std::size_t i = 0; i < part.Array("data").size(); ++i)
      left_out.Try([&] {
        const json& pair = part.Array("data")[i];
        const auto at = fmt::format("{}: data[{}]", part.where(), i);
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number())
          throw BadInput(at + ": expected [name, rate]");
        const auto name = pair[0].get<std::string>();
        const double rate = pair[1].get<double>() * 1e9;
        if (const auto& range = RangeOf("per_second"); !range.Contains(rate))
          throw BadInput("{}: expected {}", at, range.Expected());
        const auto* row =
            std::ranges::find(known, name, [](const auto& entry) { return entry.first; });
        if (row == std::end(known)) {
          unknown.push_back(name);
          return;
        }
        const auto [found, added] =
            ceilings.try_emplace(Key(row->second), CeilingOf(rate, ThreadsOf(empirical, key)));
        if (!added && found->second.per_second != rate)
          throw BadInput("{}: '{}' is there with the rates {:g} and {:g} per second",
                         empirical.where(), text::Printable(name), found->second.per_second, rate);
      });
  };
  read("gflops", kPipes, set.flops);
  read("gbytes", kLevels, set.bytes);
}

}  // namespace

Imported ImportErt(const std::string& text, const std::string& where) {
  LeftOut left_out;
  const json whole = ParsedUniqueJson(text, where, left_out);
  const JsonReader empirical = JsonReader(whole, where).Object("empirical");
  Imported imported;
  machine::Machine& machine = imported.machine.emplace();
  const int flop_threads = ThreadsOf(empirical, "gflops"),
            byte_threads = ThreadsOf(empirical, "gbytes"),
            threads = std::max(flop_threads, byte_threads);
  std::vector<std::string> unknown;
  ReadRates(empirical, machine.by_threads[threads], unknown, left_out);
  const machine::CeilingSet& set = machine.by_threads[threads];
  if (set.flops.empty() || set.bytes.empty())
    throw BadInput(where +
                   ": empirical: expected at least one known rate in 'gflops' and one in "
                   "'gbytes'");
  // Only the metadata of a GPU's rates has the launch configuration GPU_BLOCKS.
  const bool gpu = empirical.json().dump().find("GPU_BLOCKS") != std::string::npos;
  machine.device = gpu ? "gpu" : "cpu";
  machine.name = "measured by the Empirical Roofline Toolkit";
  machine.fingerprint = "imported";
  imported.Say(
      "{}: the ceilings are specified by the toolkit, not measured here; percentages depend on "
      "them",
      where);
  if (machine.device == "cpu" && threads == 1)
    imported.Say(
        "{}: the file names neither processes nor threads above 1; the rates are taken as those of "
        "1 thread",
        where);
  if (flop_threads != byte_threads)
    imported.Say(
        "{}: the best FLOP/s are of {} threads, the best bandwidths of {} (processes times "
        "threads)",
        where, flop_threads, byte_threads);
  left_out.AddTo(imported, "rates or members are");
  for (const auto& name : unknown)
    imported.Say("{}: '{}' is not known and left out", where, text::Printable(name));
  return imported;
}

}  // namespace dlroof::imports
