#include "ceilings/machine_file/specified_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/delta/prediction.h"

namespace dlroof::machine_file {
namespace {

using nlohmann::json, nlohmann::ordered_json;

// Plausible values of any machine: a number outside of the range is in another unit.
struct Range {
  double least, most;
  const char* unit;  // with an example
};
constexpr Range kFlops = {1e6, 1e18, " FLOP/s (67 TFLOP/s is 6.7e13)"};
constexpr Range kBytes = {1e6, 1e18, " byte/s (4.8 TB/s is 4.8e12)"};
constexpr Range kCapacity = {1024, 1e15, " byte (50 MiB is 52428800)"};
constexpr Range kLaunch = {1e-9, 1, " seconds (4.2 us is 4.2e-6)"};

// SpecifiedMachine ignores "help", which older templates of such files have.
constexpr const char* kMembers[] = {"name",  "device",      "threads",        "source", "flops",
                                    "bytes", "cache_bytes", "launch_seconds", "help"};

double NumberIn(const Range& range, const JsonReader& at, const std::string& key) {
  return at.NumberIn(key, range.least, range.most, range.unit);
}

// Returns the thread count that the file specifies, or 1 for a GPU (the host's thread).
int ThreadsOf(const std::string& device, const JsonReader& file) {
  if (device == "gpu") {
    if (file.Has("threads"))
      file.Refuse("threads", "no threads for a gpu, whose rates are those of all its SMs");
    return 1;
  }
  if (device != "cpu") file.Refuse("device", "gpu or cpu");
  const double threads = file.NumberIn("threads", 1, 65536);
  if (threads != std::floor(threads)) file.Refuse("threads", "a whole number");
  return static_cast<int>(threads);
}

// Returns `ceiling` with the member's rate, and its source if it has one.
machine::Ceiling WithRate(machine::Ceiling ceiling, const Range& range, const JsonReader& rates,
                          const std::string& key) {
  if (!rates.json().at(key).is_object()) {
    ceiling.per_second = NumberIn(range, rates, key);
    return ceiling;
  }
  const auto rate = rates.Object(key);
  rate.RefuseOtherKeys({"per_second", "source"});
  ceiling.per_second = NumberIn(range, rate, "per_second");
  if (rate.Has("source")) ceiling.how = rate.NonEmptyText("source");
  return ceiling;
}

void CheckPipe(const JsonReader& rates, const std::string& key) {
  if (!IsPipeKey(key) || std::ranges::count(key, '.') != 1)
    throw BadInput("{}: unknown pipe '{}', expected TYPE.UNIT of the types {} and the units {}",
                   rates.where(), key, fmt::join(AllPipeTypes(), ", "),
                   fmt::join(AllPipeUnits(), " and "));
}

Level LevelOf(const JsonReader& levels, const std::string& key) {
  if (const auto level = LevelFromKey(key)) return *level;
  throw BadInput("{}: unknown memory level '{}', expected l1, l2, l3, dram or host", levels.where(),
                 key);
}

template <class Read>
void Each(const JsonReader& file, const char* name, const Read& read) {
  if (!file.Has(name)) return;
  const auto members = file.Object(name);
  for (const auto& key : members.Keys()) read(members, key);
}

ordered_json RateJson(const machine::Ceiling& ceiling) {
  if (ceiling.how.empty()) return ceiling.per_second;
  return {{"per_second", ceiling.per_second}, {"source", ceiling.how}};
}

machine::Ceiling Specified(double per_second, const std::string& how) {
  return {.per_second = per_second, .how = how, .status = machine::CeilingStatus::kSpecified};
}

// Returns the citation of a number per SM and clock, with the factors that make it the GPU's, e.g.
// "NVIDIA ..., V1.04: dense; x 132 SMs x 1.83 GHz".
std::string SourceOfAllSms(const delta::GpuSpec& gpu, const std::string& figure) {
  return fmt::format("{}; x {:g} SMs x {:g} GHz", gpu.sources.at(figure), gpu.sms,
                     gpu.clock_hz / 1e9);
}

machine::CeilingSet SetOf(const delta::GpuSpec& gpu) {
  machine::CeilingSet set;
  const double sm_clocks = gpu.sms * gpu.clock_hz;  // [1/s] SM cycles of all SMs
  for (const auto& [type, macs] : gpu.macs_per_clock)
    set.flops[delta::PipeOf(type, gpu)] =
        Specified(2 * macs * sm_clocks, SourceOfAllSms(gpu, "macs_per_clock_" + type));
  set.bytes[Level::kL1] =
      Specified(gpu.l1_bytes_per_clock * sm_clocks, SourceOfAllSms(gpu, "l1_bytes_per_clock"));
  set.bytes[Level::kL2] = Specified(gpu.l2_bytes_per_second, gpu.sources.at("l2_bytes_per_second"));
  set.bytes[Level::kDram] =
      Specified(gpu.dram_bytes_per_second, gpu.sources.at("dram_bytes_per_second"));
  set.launch_seconds = gpu.launch_seconds;
  set.costs_how["launch"] = gpu.sources.at("launch_seconds");
  return set;
}

}  // namespace

bool IsSpecifiedMachine(const json& value) {
  return value.is_object() && !value.contains("by_threads") && !value.contains("fingerprint") &&
         !value.contains("schema");
}

machine::Machine SpecifiedMachine(const json& value, const std::string& where) {
  const JsonReader file(value, where);
  file.RefuseOtherKeys({std::begin(kMembers), std::end(kMembers)});
  machine::Machine machine{.device = file.TextOr("device", "gpu"),
                           .name = file.NonEmptyText("name")};
  const int threads = ThreadsOf(machine.device, file);
  const machine::Ceiling specified{.threads = threads,
                                   .how = file.TextOr("source", ""),
                                   .status = machine::CeilingStatus::kSpecified};
  auto& set = machine.by_threads[threads];
  Each(file, "flops", [&](const JsonReader& rates, const std::string& key) {
    CheckPipe(rates, key);
    set.flops[key] = WithRate(specified, kFlops, rates, key);
  });
  Each(file, "bytes", [&](const JsonReader& rates, const std::string& key) {
    set.bytes[LevelOf(rates, key)] = WithRate(specified, kBytes, rates, key);
  });
  Each(file, "cache_bytes", [&](const JsonReader& sizes, const std::string& key) {
    machine.cache_bytes[LevelOf(sizes, key)] = NumberIn(kCapacity, sizes, key);
  });
  if (set.flops.empty() && set.bytes.empty())
    throw BadInput("{}: expected at least one rate in \"flops\" or \"bytes\"", where);
  if (file.Has("launch_seconds")) set.launch_seconds = NumberIn(kLaunch, file, "launch_seconds");
  machine.fingerprint = fmt::format("given-{:016x}", HashOf(SpecifiedToJson(machine).dump()));
  return machine;
}

bool IsSpecified(const machine::Machine& machine) {
  const auto specified = [](const auto& row) { return row.second.IsSpecified(); };
  return !machine.by_threads.empty() &&
         std::ranges::all_of(machine.by_threads, [&](const auto& each) {
           const auto& [threads, set] = each;
           return std::ranges::all_of(set.flops, specified) &&
                  std::ranges::all_of(set.bytes, specified) &&
                  !(set.flops.empty() && set.bytes.empty());
         });
}

ordered_json SpecifiedToJson(const machine::Machine& machine) {
  const auto& set = machine::AllThreads(machine);
  ordered_json file = {{"name", machine.name}, {"device", machine.device}};
  if (machine.device == "cpu") file["threads"] = machine.by_threads.rbegin()->first;
  for (const auto& [pipe, ceiling] : set.flops) file["flops"][pipe] = RateJson(ceiling);
  for (const auto& [level, ceiling] : set.bytes)
    file["bytes"][std::string(Key(level))] = RateJson(ceiling);
  for (const auto& [level, bytes] : machine.cache_bytes)
    file["cache_bytes"][std::string(Key(level))] = bytes;
  if (set.launch_seconds) file["launch_seconds"] = *set.launch_seconds;
  return file;
}

std::vector<std::string_view> KnownGpuNames() {
  return VectorOf<std::string_view>(delta::BuiltInGpus(), [](const auto& gpu) { return gpu.name; });
}

std::string MachineChoices() {
  return fmt::format(
      "a machine file (from dlroof machine -o, or written by hand), or a known GPU: {}; a file of "
      "that name takes precedence",
      fmt::join(KnownGpuNames(), ", "));
}

std::optional<machine::Machine> KnownGpu(std::string_view name) {
  if (std::ranges::count(KnownGpuNames(), name) == 0) return std::nullopt;
  const auto gpu = delta::FindGpu(std::string(name));
  machine::Machine machine{
      .device = "gpu", .name = gpu.name, .fingerprint = fmt::format("given-{}", name)};
  machine.cache_bytes[Level::kL2] = gpu.l2_bytes;
  machine.by_threads[1] = SetOf(gpu);
  return machine;
}

}  // namespace dlroof::machine_file
