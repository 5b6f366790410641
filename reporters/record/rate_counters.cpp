#include "reporters/record/rate_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporters/record/benchmark_name.h"

namespace dlroof::record {
namespace {

constexpr std::string_view kBytesRate = "bytes_per_second";
constexpr double kMaxPerSecond = 1e18;  // no machine of today is as fast

struct FlopRate {
  std::string_view name;
  double scale;  // [1/s] per unit of the counter
};
// Names that say "per second". "flops" and "FLOPs" may be counts.
constexpr FlopRate kFlopRates[] = {
    {"FLOPS", 1},           {"FLOP/s", 1},           {"FLOPs/s", 1},
    {"flop/s", 1},          {"flops/s", 1},          {"FLOPS/s", 1},
    {"Flops/s", 1},         {"flops_per_second", 1}, {"FLOP_per_second", 1},
    {"flop_per_second", 1}, {"FLOPs_per_second", 1}, {"MFLOPS", 1e6},
    {"MFLOP/s", 1e6},       {"MFLOPs/s", 1e6},       {"GFLOPS", 1e9},
    {"GFLOP/s", 1e9},       {"GFLOPs/s", 1e9},       {"GFlops", 1e9},
    {"GFlop/s", 1e9},       {"gflops", 1e9},         {"TFLOPS", 1e12},
    {"TFLOP/s", 1e12},      {"TFLOPs/s", 1e12}};

struct TypeWord {
  std::string_view word, type;
};
constexpr TypeWord kTypeWords[] = {{"double", "fp64"},  {"f64", "fp64"},     {"fp64", "fp64"},
                                   {"float64", "fp64"}, {"float", "fp32"},   {"f32", "fp32"},
                                   {"fp32", "fp32"},    {"float32", "fp32"}, {"half", "fp16"},
                                   {"f16", "fp16"},     {"fp16", "fp16"},    {"float16", "fp16"},
                                   {"bf16", "bf16"},    {"bfloat16", "bf16"}};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns whether the text has the word, not as a part of a longer one.
bool HasWord(std::string_view text, std::string_view word) {
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const auto end = at + word.size();
    if ((at == 0 || !IsWordCharacter(text[at - 1])) &&
        (end == text.size() || !IsWordCharacter(text[end])))
      return true;
  }
  return false;
}

// Returns the type that the name has, unless it has several.
std::optional<std::string_view> TypeIn(std::string_view name) {
  std::optional<std::string_view> type;
  for (const auto& [word, one] : kTypeWords) {
    if (!HasWord(name, word)) continue;
    if (type && *type != one) return std::nullopt;
    type = one;
  }
  return type;
}

std::optional<double> RateOf(const Entry& entry, std::string_view name, double scale) {
  const auto found = entry.counters.find(std::string(name));
  if (found == entry.counters.end()) return std::nullopt;
  const double rate = found->second * scale;
  return rate > 0 && rate <= kMaxPerSecond ? std::optional(rate) : std::nullopt;
}

// Returns the whole number that a rate times its seconds is but for rounding.
double WholeIfNear(double count) {
  constexpr double kRounding = 1e-6;
  const double whole = std::round(count);
  return std::abs(count - whole) <= kRounding * std::min(1.0, count) ? whole : count;
}

bool HasFlops(const Record& record) {
  return std::ranges::any_of(record.work,
                             [](const auto& one) { return !one.second.flops.empty(); });
}

bool HasBytes(const Record& record) {
  return std::ranges::any_of(record.work,
                             [](const auto& one) { return !one.second.bytes.empty(); });
}

void AddNote(std::string text, Record& record) {
  CountingNote note{std::string(kRateSource), Provenance::kModelled, std::move(text)};
  if (std::ranges::find(record.counting, note) == record.counting.end())
    record.counting.push_back(std::move(note));
}

}  // namespace

std::optional<double> RateSeconds(std::string_view name, const Entry& entry) {
  const auto read = ReadBenchmarkName(name);
  const bool wall = read.real_time || read.manual_time;
  const auto seconds = wall ? std::optional(entry.seconds) : entry.main_cpu_seconds;
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

void AddWorkOfRates(std::string_view name, const Entry& entry, Record& record) {
  const auto seconds = RateSeconds(name, entry);
  if (!seconds) return;
  if (const auto rate = RateOf(entry, kBytesRate, 1); rate && !HasBytes(record)) {
    record.work[Provenance::kModelled].bytes[Level::kDram] = WholeIfNear(*rate * *seconds);
    AddNote("bytes that the benchmark's author declares (bytes_per_second), taken as DRAM traffic",
            record);
  }
  if (HasFlops(record)) return;
  for (const auto& [counter, scale] : kFlopRates) {
    const auto rate = RateOf(entry, counter, scale);
    if (!rate) continue;
    const auto type = TypeIn(name);
    const auto pipe = fmt::format("{}.vector", type.value_or("fp32"));
    record.work[Provenance::kModelled].flops[pipe] = WholeIfNear(*rate * *seconds);
    AddNote(fmt::format("FLOPs that the benchmark's author declares ({}), {} {}", counter,
                        type ? "by the type in its name on" : "of unknown type, judged by", pipe),
            record);
    return;
  }
}

}  // namespace dlroof::record
