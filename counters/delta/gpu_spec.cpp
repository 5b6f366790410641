#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/delta/prediction.h"

namespace dlroof::delta {
namespace {

constexpr std::string_view kMacs = "macs_per_clock_";
constexpr double kMaxSms = 65536, kMaxParts = 16;
constexpr double kSlowestClock = 1e6, kFastestClock = 1e12;  // [1/s]

template <class Value>
using Figure = std::pair<std::string_view, Value GpuSpec::*>;
constexpr Figure<double> kFigures[] = {
    {"sms", &GpuSpec::sms},
    {"clock_hz", &GpuSpec::clock_hz},
    {"l1_bytes_per_clock", &GpuSpec::l1_bytes_per_clock},
    {"shared_bytes_per_clock", &GpuSpec::shared_bytes_per_clock},
    {"l2_bytes_per_second", &GpuSpec::l2_bytes_per_second},
    {"dram_bytes_per_second", &GpuSpec::dram_bytes_per_second},
    {"l1_latency_clocks", &GpuSpec::l1_latency_clocks},
    {"shared_latency_clocks", &GpuSpec::shared_latency_clocks},
    {"l2_latency_clocks", &GpuSpec::l2_latency_clocks},
    {"dram_latency_clocks", &GpuSpec::dram_latency_clocks},
    {"l2_bytes", &GpuSpec::l2_bytes},
    {"shared_bytes_per_sm", &GpuSpec::shared_bytes_per_sm},
    {"registers_per_sm", &GpuSpec::registers_per_sm},
    {"threads_per_sm", &GpuSpec::threads_per_sm},
    {"ctas_per_sm", &GpuSpec::ctas_per_sm},
    {"launch_seconds", &GpuSpec::launch_seconds},
};
constexpr Figure<int64_t> kSectors[] = {{"sector_bytes", &GpuSpec::sector_bytes},
                                        {"dram_sector_bytes", &GpuSpec::dram_sector_bytes}};

// Figures that may be missing; their defaults are in GpuSpec.
constexpr Figure<double> kOptionalFigures[] = {{"l2_partitions", &GpuSpec::l2_partitions},
                                               {"coalesced_sms", &GpuSpec::coalesced_sms}};

// The resources that Scaled accepts; "mac" stands for all types.
constexpr Figure<double> kResources[] = {
    {"mac", nullptr},
    {"sm", &GpuSpec::sms},
    {"clock", &GpuSpec::clock_hz},
    {"shared", &GpuSpec::shared_bytes_per_clock},
    {"l1", &GpuSpec::l1_bytes_per_clock},
    {"l2", &GpuSpec::l2_bytes_per_second},
    {"dram", &GpuSpec::dram_bytes_per_second},
    {"l2size", &GpuSpec::l2_bytes},
    {"reg", &GpuSpec::registers_per_sm},
    {"smem", &GpuSpec::shared_bytes_per_sm},
};

double ReadFigure(const JsonReader& file, const std::string& key, GpuSpec& gpu) {
  const JsonReader figure = file.Object(key);
  const double value = figure.Positive("value");
  gpu.sources[key] = figure.Text("source");
  return value;
}

int64_t ReadSector(const JsonReader& file, const std::string& key, GpuSpec& gpu) {
  const double value = ReadFigure(file, key, gpu);
  for (int64_t power = 8; power <= 1024; power *= 2)
    if (value == static_cast<double>(power)) return power;
  throw BadInput("{}: {}: expected a power of two from 8 to 1024, got {}", file.where(), key,
                 value);
}

bool IsFigure(const std::string& key) {
  const auto is = [&](const auto& figure) { return key == figure.first; };
  return key == "name" || std::ranges::any_of(kFigures, is) || std::ranges::any_of(kSectors, is) ||
         std::ranges::any_of(kOptionalFigures, is);
}

}  // namespace

GpuSpec GpuFromJson(const nlohmann::json& json, const std::string& where) {
  const JsonReader file(json, where);
  GpuSpec gpu{.name = file.Text("name")};
  for (const auto& [key, value] : kFigures) gpu.*value = ReadFigure(file, std::string(key), gpu);
  for (const auto& [key, value] : kSectors) gpu.*value = ReadSector(file, std::string(key), gpu);
  for (const auto& [key, value] : kOptionalFigures) {
    if (!json.contains(key)) continue;
    gpu.*value = ReadFigure(file, std::string(key), gpu);
    if (gpu.*value < 1 || gpu.*value > kMaxParts || gpu.*value != std::floor(gpu.*value))
      throw BadInput("{}: {}: expected a whole number from 1 to {}, got {}", where, key, kMaxParts,
                     gpu.*value);
  }
  for (const auto& item : json.items()) {
    const std::string& key = item.key();
    if (IsFigure(key)) continue;
    if (!key.starts_with(kMacs) || key.size() == kMacs.size())
      throw BadInput("{}: unknown key '{}', expected one such as 'sms' or 'macs_per_clock_fp32'",
                     where, key);
    gpu.macs_per_clock[key.substr(kMacs.size())] = ReadFigure(file, key, gpu);
  }
  if (gpu.macs_per_clock.empty())
    throw BadInput("{}: expected at least one 'macs_per_clock_<type>', got none", where);
  if (gpu.sms < 1 || gpu.sms > kMaxSms || gpu.sms != std::floor(gpu.sms))
    throw BadInput("{}: sms: expected a whole number from 1 to {}, got {}", where, kMaxSms,
                   gpu.sms);
  if (gpu.clock_hz < kSlowestClock || gpu.clock_hz > kFastestClock)
    throw BadInput("{}: clock_hz: expected {:g} to {:g} per second, got {}", where, kSlowestClock,
                   kFastestClock, gpu.clock_hz);
  return gpu;
}

nlohmann::json ToJson(const GpuSpec& gpu) {
  nlohmann::json json = {{"name", gpu.name}};
  const auto put = [&](std::string_view name, const nlohmann::json& value) {
    const std::string key(name);
    json[key] = {{"value", value}, {"source", FindCopy(gpu.sources, key).value_or("")}};
  };
  for (const auto& [key, value] : kFigures) put(key, gpu.*value);
  for (const auto& [key, value] : kSectors) put(key, gpu.*value);
  for (const auto& [key, value] : kOptionalFigures)
    if (gpu.sources.contains(std::string(key))) put(key, gpu.*value);
  for (const auto& [type, macs] : gpu.macs_per_clock) put(std::string(kMacs) + type, macs);
  return json;
}

GpuSpec FindGpu(const std::string& name) {
  for (const auto& gpu : BuiltInGpus())
    if (gpu.name == name) return GpuFromJson(ParsedJson(std::string(gpu.text), name), name);
  if (name.find_first_of("/.") == std::string::npos)
    throw BadInput("unknown GPU '{}'; expected {}, or the path of a parameter file", name,
                   fmt::join(BuiltInGpus() | std::views::transform(&EmbeddedFile::name), ", "));
  return GpuFromJson(ParsedJson(ReadFile(name, "a GPU's parameter file"), name), name);
}

double MacsPerClock(const GpuSpec& gpu, const std::string& type) {
  if (const auto* macs = FindValue(gpu.macs_per_clock, type)) return *macs;
  throw BadInput("{} has no type '{}'; it has {}", gpu.name, type,
                 fmt::join(gpu.macs_per_clock | std::views::keys, ", "));
}

const std::vector<std::string_view>& ScalableResources() {
  static const auto names = VectorOf<std::string_view>(kResources, &Figure<double>::first);
  return names;
}

GpuSpec Scaled(GpuSpec gpu, const std::string& resource, double factor) {
  constexpr double kMax = 64;
  if (!std::isfinite(factor) || factor < 1 / kMax || factor > kMax)
    throw BadInput("{}={}: expected a factor from 1/64 to 64", resource, factor);
  if (resource == "mac") {
    for (auto& [type, macs] : gpu.macs_per_clock) macs *= factor;
    return gpu;
  }
  const auto found = std::ranges::find(kResources, resource, &Figure<double>::first);
  if (found == std::end(kResources))
    throw BadInput("'{}' is not a resource; expected {}, tile=MxN", resource,
                   fmt::join(ScalableResources(), ", "));
  gpu.*(found->second) *= factor;
  if (resource == "sm") gpu.sms = std::round(gpu.sms);
  if (gpu.sms < 1) throw BadInput("sm={}: leaves less than one SM", factor);
  return gpu;
}

}  // namespace dlroof::delta
