// Reader of nvbench's JSON (import.h), whose numbers are strings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <set>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "reporters/imports/import.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::imports {
namespace {

using nlohmann::json;

constexpr double kMaxBytesPerSecond = 1e18;  // larger rates are invalid
constexpr double kMaxSamples = 1e8;
constexpr std::uintmax_t kMaxSampleBytes = std::uintmax_t{4} * 100'000'000;

// Returns the samples [s] in the file `name`, which is in a folder beside the JSON file `where`.
// Returns none if it is missing, or if the JSON has another number of samples or another mean.
std::vector<float> SamplesIn(const std::filesystem::path& name, const std::string& where,
                             std::optional<double> size, double mean) {
  constexpr double kMaxDifference = 1e-3;  // [1] between the means: samples are float32
  const auto path =
      std::filesystem::path(where).parent_path() / name.parent_path().filename() / name.filename();
  if (std::error_code none; !std::filesystem::is_regular_file(path, none)) return {};
  const auto bytes = ReadFile(path, "nvbench's samples", kMaxSampleBytes);
  std::vector<float> samples(bytes.size() / sizeof(float));
  std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
  const auto count = static_cast<double>(samples.size());
  const double own = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  const bool known = size == count && std::ranges::all_of(samples, IsRunTime) &&
                     std::abs(own / mean - 1) <= kMaxDifference;
  return known ? samples : std::vector<float>();
}

// Tags of the summaries of one of nvbench's ways to measure.
struct TimeKeys {
  std::string time;       // mean [s] of one call; its siblings are "/median" and "/stdev"
  std::string bandwidth;  // [byte/s]
  std::string samples;    // [1] number of calls
  bool gpu;
  std::string_view meaning;  // for a remark "times are ..."
};
// In order of preference: cold GPU time, batch GPU time, CPU-only time.
const TimeKeys kTimeKeys[] = {
    {"nv/cold/time/gpu/mean", "nv/cold/bw/global/bytes_per_second", "nv/cold/sample_size", true,
     "by the GPU's clock, with cold caches"},
    {"nv/batch/time/gpu/mean", "nv/cold/bw/global/bytes_per_second", "nv/batch/sample_size", true,
     "of calls back to back, since there is no other"},
    {"nv/cpu_only/time/cpu/mean", "nv/cpu_only/bw/global/bytes_per_second",
     "nv/cpu_only/sample_size", false, "by the CPU's clock, without a GPU"}};

// Tags, in all versions, of summaries that name a file of samples (--jsonbin): float32 [s].
const std::string kSampleTags[] = {"nv/json/bin:nv/cold/sample_times",
                                   "nv/json/bin:nv/cpu_only/sample_times",
                                   "nv/json/bin:sample_times"};

// A value of a summary: `number` if it is a finite number, otherwise `text`.
struct Value {
  std::optional<double> number;
  std::string text;
  bool operator==(const Value&) const = default;
};
// A state's values, by "TAG NAME" of their summaries: "nv/cold/time/gpu/mean value".
using Summaries = std::map<std::string, Value>;

// Throws BadInput if `key` has a word that is not `known`: it may change what a number means.
void CheckWord(const JsonReader& at, const char* key, std::initializer_list<const char*> known) {
  if (std::ranges::find(known, at.TextOr(key, "")) == known.end())
    at.Refuse(key, fmt::format("one of {}", fmt::join(known, " ")));
}

// Returns an item's value. Throws BadInput if the item is named "value" and is no number.
Value ValueOf(const JsonReader& item, const std::string& tag) {
  CheckWord(item, "type", {"", "int64", "float64", "string"});
  const json value = item.Has("value") ? item.json().at("value") : json::object();
  if (value.is_number()) return {value.get<double>(), ""};
  if (value.is_null()) return {std::nullopt, "null"};
  if (!value.is_string()) item.Refuse("value", "a number");
  const Value read{text::PlainNumber(value.get<std::string>()), value.get<std::string>()};
  if (item.TextOr("name", "") == "value" && !read.number && !text::IsNoValue(read.text))
    throw BadInput("{}: {}: 'value': expected a number, got '{}'", item.where(), tag,
                   text::Printable(read.text.substr(0, 40)));
  return read;
}

// Calls visit(item) for each object of the array `key`, if it is there.
template <class Visit>
void EachItem(const JsonReader& at, const char* key, const Visit& visit) {
  if (!at.Has(key) || at.json().at(key).is_null()) return;
  for (std::size_t i = 0; i < at.Array(key).size(); ++i) visit(at.Item(key, i));
}

// Returns nvbench's own summaries. Adds tags that the benchmark's author defined to `others`, each
// once. Throws BadInput for a tag and name with two different values.
Summaries SummariesOf(const JsonReader& state, std::vector<std::string>& others) {
  Summaries all;
  EachItem(state, "summaries", [&](const JsonReader& summary) {
    const auto tag = summary.TextOr("tag", "");
    if (!tag.starts_with("nv/")) {
      if (!tag.empty() && std::ranges::count(others, tag) == 0) others.push_back(tag);
      return;
    }
    if (!tag.starts_with("nv/json/"))
      CheckWord(summary, "hint",
                {"", "duration", "item_rate", "frequency", "bytes", "byte_rate", "sample_size",
                 "percentage"});
    EachItem(summary, "data", [&](const JsonReader& item) {
      const auto value = ValueOf(item, tag);
      const auto [known, added] = all.emplace(tag + ' ' + item.TextOr("name", ""), value);
      if (!added && known->second != value)
        throw BadInput("{}: '{}' is twice in this state, with different values", summary.where(),
                       text::Printable(tag));
    });
  });
  return all;
}

std::optional<Value> Find(const Summaries& state, const std::string& tag,
                          const std::string& name = "value") {
  const auto found = state.find(tag + ' ' + name);
  return found == state.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> NumberOf(const Summaries& state, const std::string& tag) {
  const auto value = Find(state, tag);
  return value ? value->number : std::nullopt;
}

class NvbenchReader {
 public:
  NvbenchReader(const std::string& where, LeftOut left_out)
      : where_(where), left_out_(std::move(left_out)) {}

  Imported Read(const JsonReader& file) {
    left_out_.Try([&] {
      EachItem(file, "devices", [&](const JsonReader& device) {
        const auto number = static_cast<int>(devices_.size());
        const double id = device.OptionalNumber("id").value_or(number);
        devices_[static_cast<int>(id)] = device.TextOr("name", "");
      });
    });
    for (std::size_t i = 0; i < file.Array("benchmarks").size(); ++i)
      left_out_.Try([&] { ReadBenchmark(file.Item("benchmarks", i)); });
    records_.MoveTo(imported_, where_);
    left_out_.AddTo(imported_, "states are");
    if (imported_.records.empty())
      throw BadInput(where_ + ": 'benchmarks': expected a benchmark with a state");
    AddRemarks();
    return std::move(imported_);
  }

 private:
  void ReadBenchmark(const JsonReader& benchmark) {
    // Adds GPUs without states, too: names contain their GPU if a benchmark ran on several.
    if (benchmark.Has("devices") && benchmark.json().at("devices").is_array())
      for (const json& device : benchmark.Array("devices"))
        if (device.is_number_integer()) records_.AddGpu(GpuOf(device.get<int>()));
    for (std::size_t i = 0; i < benchmark.Array("states").size(); ++i)
      left_out_.Try(
          [&] { ReadState(benchmark.NonEmptyText("name"), benchmark.Item("states", i)); });
  }

  Gpu GpuOf(int number) {
    const auto& model = devices_[number];
    return {fmt::format("{}{}{}", number, model.empty() ? "" : " ", model), model};
  }

  // Adds a record "bench/Device=1 NVIDIA H200/Elements=1024/T=I32": the benchmark's name, its GPU
  // if the file has several, and the values of its axes.
  void ReadState(const std::string& benchmark, const JsonReader& state) {
    auto name = benchmark + kGpuPlace;
    EachItem(state, "axis_values", [&](const JsonReader& axis) {
      if (!axis.Has("value")) axis.Refuse("value", "a text");
      const json& value = axis.json().at("value");
      name += fmt::format("/{}={}", axis.Text("name"),
                          value.is_string() ? value.get<std::string>() : value.dump());
    });
    record::Record record;
    Gpu gpu{"", "cpu"};
    if (state.Has("device") && !state.json().at("device").is_null())
      if (const double number = state.Number("device"); number >= 0 && number < 1e6)
        gpu = GpuOf(static_cast<int>(number));
    record.device = gpu.model.empty() ? "gpu" : gpu.model;
    if (state.OptionalFlag("is_skipped")) {
      record.status = record::Status::kUnsupported;
      record.reason = state.TextOr("skip_reason", "skipped without a reason");
    } else {
      ReadTime(SummariesOf(state, unknown_), record);
    }
    auto& stored = records_.Of(name, gpu, true);
    record.name = stored.name;
    stored = std::move(record);
  }

  void ReadTime(const Summaries& state, record::Record& record) {
    for (const auto& measurement : kTimeKeys) {
      const auto mean = Find(state, measurement.time);
      if (!mean) continue;
      if (!mean->number || !IsRunTime(*mean->number)) {
        record.reason = fmt::format("no time: {} is {}", measurement.time,
                                    mean->number ? fmt::format("{}", *mean->number) : mean->text);
        return;
      }
      meanings_.insert(measurement.meaning);
      if (measurement.gpu && record.device == "cpu") record.device = "gpu";
      AddRepetitions(state, measurement, *mean->number, record);
      Work& work = record.work[Provenance::kModelled];
      if (measurement.gpu) work.launches = 1;
      // nvbench divides the declared bytes by the mean time of cold calls.
      const auto seconds = measurement.gpu ? NumberOf(state, kTimeKeys[0].time) : *mean->number;
      if (const auto rate = NumberOf(state, measurement.bandwidth);
          rate && seconds && *rate > 0 && *rate <= kMaxBytesPerSecond)
        work.bytes[Level::kDram] = *rate * *seconds;
      if (work == Work{}) record.work.clear();
      return;
    }
    record.reason = fmt::format("no time: the summary {} is missing", kTimeKeys[0].time);
  }

  // Adds a repetition per sample if their file exists, otherwise the mean and its deviation.
  void AddRepetitions(const Summaries& state, const TimeKeys& measurement, double mean,
                      record::Record& record) {
    if (&measurement != &kTimeKeys[1] && AddSamples(state, mean, record)) return;
    record::Repetition repetition{.seconds = mean, .iterations = 1};
    record::AggregateTime aggregate{.statistic = "mean"};
    const auto base = measurement.time.substr(0, measurement.time.rfind('/'));
    if (const auto count = NumberOf(state, measurement.samples); count && *count >= 1) {
      aggregate.repetitions = static_cast<int>(std::min(*count, kMaxSamples));
      repetition.iterations = *count;
    }
    aggregate.deviation = NumberOf(state, fmt::format("{}/stdev/relative", base));
    if (!aggregate.deviation)
      if (const auto absolute = NumberOf(state, fmt::format("{}/stdev/absolute", base)))
        aggregate.deviation = *absolute / mean;
    if (aggregate.deviation && !(*aggregate.deviation >= 0)) aggregate.deviation.reset();
    repetition.aggregate = aggregate;
    record.repetitions.push_back(std::move(repetition));
  }

  bool AddSamples(const Summaries& state, double mean, record::Record& record) {
    for (const auto& tag : kSampleTags) {
      const auto file = Find(state, tag, "filename"), size = Find(state, tag, "size");
      if (!file) continue;
      const auto samples = SamplesIn(file->text, where_, size ? size->number : std::nullopt, mean);
      if (samples.empty()) missing_.push_back(file->text);
      for (const double seconds : samples)
        record.repetitions.push_back({.seconds = seconds, .iterations = 1});
      return !samples.empty();
    }
    return false;
  }

  void AddRemarks() {
    imported_.Say("{}: nvbench has no FLOPs, and the benchmark's author declares its bytes",
                  where_);
    for (const auto meaning : meanings_) imported_.Say("{}: times are {}", where_, meaning);
    if (!missing_.empty())
      imported_.Say(
          "{}: {} of its files of samples are not there or have other samples ('{}'); the means "
          "are read",
          where_, missing_.size(), text::Printable(missing_.front()));
    AddUnknownColumns(unknown_, where_, imported_);
  }

  const std::string& where_;
  Imported imported_;
  LeftOut left_out_;
  Records records_;
  std::map<int, std::string> devices_;  // models by number
  std::set<std::string_view> meanings_;
  std::vector<std::string> unknown_, missing_;
};

}  // namespace

Imported ImportNvbench(const std::string& text, const std::string& where) {
  LeftOut left_out;
  const json whole = ParsedUniqueJson(text, where, left_out);
  return NvbenchReader(where, left_out).Read(JsonReader(whole, where));
}

}  // namespace dlroof::imports
