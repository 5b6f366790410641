// Reader of nvbench's JSON (import.h), whose numbers are strings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
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

// One way in which nvbench measures a benchmark: its tags.
struct TimeKeys {
  std::string_view time;       // mean [s] of one call; "/median" and "/stdev" are beside it
  std::string_view bandwidth;  // [byte/s]
  std::string_view samples;    // [1] number of calls
  bool gpu;
  std::string_view meaning;
};
// The first whose time a state has: one call on an idle GPU, calls back to back, a call of a
// benchmark without a GPU.
constexpr TimeKeys kTimeKeys[] = {
    {"nv/cold/time/gpu/mean", "nv/cold/bw/global/bytes_per_second", "nv/cold/sample_size", true,
     "by the GPU's clock, with cold caches"},
    {"nv/batch/time/gpu/mean", "nv/cold/bw/global/bytes_per_second", "nv/batch/sample_size", true,
     "of calls back to back, since there is no other"},
    {"nv/cpu_only/time/cpu/mean", "nv/cpu_only/bw/global/bytes_per_second",
     "nv/cpu_only/sample_size", false, "by the CPU's clock, without a GPU"}};

// Float32 numbers [s] beside the JSON file (--jsonbin): the older and the newer tag.
constexpr std::string_view kSampleTags[] = {"nv/json/bin:nv/cold/sample_times",
                                            "nv/json/bin:nv/cpu_only/sample_times",
                                            "nv/json/bin:sample_times"};

// Beginnings of the tags of nvbench's own summaries. All others are the author's.
constexpr std::string_view kKnownTags[] = {"nv/cold/", "nv/batch/", "nv/cpu_only/", "nv/json/",
                                           "nv/cupti/"};

// A value of a summary: a number, or the text of one that is not finite.
struct Value {
  std::optional<double> number;
  std::string text;
};

// Returns the object of the array `key` whose member `name` is `text`, if any. Throws BadInput if
// there are two that differ.
std::optional<JsonReader> FindItem(const JsonReader& at, const char* key, const char* name,
                                   std::string_view text) {
  std::optional<std::size_t> found;
  if (!at.Has(key) || at.json().at(key).is_null()) return std::nullopt;
  for (std::size_t i = 0; i < at.Array(key).size(); ++i) {
    const JsonReader item = at.Item(key, i);
    if (item.TextOr(name, "") != text) continue;
    if (found && item.json() != at.Item(key, *found).json())
      throw BadInput("{}: '{}' is also there with other content", item.where(),
                     text::Printable(text));
    found = i;
  }
  return found ? std::optional(at.Item(key, *found)) : std::nullopt;
}

std::optional<JsonReader> FindSummary(const JsonReader& state, std::string_view tag) {
  return FindItem(state, "summaries", "tag", tag);
}

// Returns the member `name` of a summary's data.
std::optional<Value> Find(const JsonReader& summary, std::string_view name) {
  const auto item = FindItem(summary, "data", "name", name);
  if (!item) return std::nullopt;
  if (!item->Has("value")) item->Refuse("value", "a number");
  const json& value = item->json().at("value");
  if (value.is_number()) return Value{value.get<double>(), ""};
  if (value.is_null()) return Value{std::nullopt, "null"};
  if (!value.is_string()) item->Refuse("value", "a number");
  return Value{text::PlainNumber(value.get<std::string>()), value.get<std::string>()};
}

// Returns the value of a summary, or nullopt if there is no such summary. Throws BadInput for a
// text that is not a number; Value::number is not set for one that is not finite.
std::optional<Value> Summary(const JsonReader& state, std::string_view tag) {
  const auto summary = FindSummary(state, tag);
  if (!summary) return std::nullopt;
  auto value = Find(*summary, "value");
  if (value && !value->number && value->text != "null" && !text::IsNoValue(value->text))
    throw BadInput("{}: {}: 'value': expected a number, got '{}'", summary->where(), tag,
                   text::Printable(value->text.substr(0, 40)));
  return value;
}

std::optional<double> NumberOf(const JsonReader& state, std::string_view tag) {
  const auto value = Summary(state, tag);
  return value ? value->number : std::nullopt;
}

// Returns the path of a file that the JSON file names, by nvbench's rules: beside the JSON file, or
// beside its folder, or in the current one.
std::optional<std::string> SampleFile(const std::string& name, const std::string& where) {
  namespace fs = std::filesystem;
  const auto folder = fs::path(where).parent_path();
  for (const auto& path :
       {folder / name, folder.parent_path() / name, fs::path(name),
        folder / fs::path(name).parent_path().filename() / fs::path(name).filename()}) {
    std::error_code none;
    if (fs::is_regular_file(path, none)) return path.string();
  }
  return std::nullopt;
}

// Returns the float32 numbers of a file of samples.
std::vector<double> Floats(std::string_view bytes) {
  std::vector<double> numbers;
  for (std::size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float)) {
    float number = 0;
    std::memcpy(&number, bytes.data() + i, sizeof number);
    numbers.push_back(number);
  }
  return numbers;
}

class NvbenchReader {
 public:
  NvbenchReader(const std::string& where, LeftOut left_out)
      : where_(where), left_out_(std::move(left_out)) {}

  Imported Read(const JsonReader& file) {
    ReadDevices(file);
    EachState(file, left_out_, [&](const JsonReader& benchmark, const JsonReader& state) {
      imported_.records.push_back(RecordOf(benchmark.Text("name"), state));
    });
    left_out_.AddTo(imported_, "states are");
    if (imported_.records.empty())
      throw BadInput(where_ + ": 'benchmarks': expected a benchmark with a state");
    AddRemarks();
    return std::move(imported_);
  }

 private:
  // Calls visit(benchmark, state) for each state; counts those that throw BadInput.
  template <class Visit>
  static void EachState(const JsonReader& file, LeftOut& left_out, const Visit& visit) {
    for (std::size_t i = 0; i < file.Array("benchmarks").size(); ++i)
      left_out.Try([&] {
        const JsonReader benchmark = file.Item("benchmarks", i);
        for (std::size_t j = 0; j < benchmark.Array("states").size(); ++j)
          left_out.Try([&] { visit(benchmark, benchmark.Item("states", j)); });
      });
  }

  void ReadDevices(const JsonReader& file) {
    const auto& devices = file.json().value("devices", json::array());
    for (std::size_t i = 0; devices.is_array() && i < devices.size(); ++i)
      left_out_.Try([&] {
        const JsonReader device = file.Item("devices", i);
        devices_[static_cast<int>(device.OptionalNumber("id").value_or(static_cast<double>(i)))] =
            device.TextOr("name", "");
      });
    std::set<int> used;
    LeftOut again;  // of the states, which are read twice
    EachState(file, again, [&](const JsonReader& benchmark, const JsonReader& state) {
      // The benchmark's devices: the file may have lost the states of one.
      if (benchmark.Has("devices") && benchmark.json().at("devices").is_array())
        for (const json& device : benchmark.Array("devices"))
          if (device.is_number_integer()) used.insert(device.get<int>());
      if (const auto device = DeviceOf(state)) used.insert(*device);
    });
    several_ = used.size() > 1;
  }

  // Returns the number of the state's GPU, or nullopt for a benchmark without one.
  static std::optional<int> DeviceOf(const JsonReader& state) {
    if (!state.Has("device") || state.json().at("device").is_null()) return std::nullopt;
    const double number = state.Number("device");
    return number >= 0 && number < 1e6 ? std::optional(static_cast<int>(number)) : std::nullopt;
  }

  std::string NameOfDevice(int number) const {
    const auto found = devices_.find(number);
    return found == devices_.end() ? "" : found->second;
  }

  // Returns "bench/Device=1 NVIDIA H200/Elements=1024/T=I32": the benchmark, its GPU if the file
  // has several, and its axes.
  std::string NameOf(const std::string& benchmark, const JsonReader& state) const {
    std::string name = benchmark;
    if (const auto device = DeviceOf(state); device && several_) {
      name += fmt::format("/Device={}", *device);
      if (const auto model = NameOfDevice(*device); !model.empty()) name += ' ' + model;
    }
    if (!state.Has("axis_values") || state.json().at("axis_values").is_null()) return name;
    for (std::size_t i = 0; i < state.Array("axis_values").size(); ++i) {
      const JsonReader axis = state.Item("axis_values", i);
      if (!axis.Has("value")) axis.Refuse("value", "a text");
      const json& value = axis.json().at("value");
      name += fmt::format("/{}={}", axis.Text("name"),
                          value.is_string() ? value.get<std::string>() : value.dump());
    }
    return name;
  }

  record::Record RecordOf(const std::string& benchmark, const JsonReader& state) {
    record::Record record{.name = NameOf(benchmark, state)};
    if (record.name.empty()) throw BadInput(state.where() + ": expected the benchmark's name");
    if (const int number = ++names_[record.name]; number > 1) {
      twice_.insert(record.name);
      record.name += fmt::format(" ({})", number);
    }
    record.device = "cpu";
    if (const auto device = DeviceOf(state)) {
      record.device = NameOfDevice(*device);
      if (record.device.empty()) record.device = "gpu";
    }
    if (state.Has("is_skipped") && state.Flag("is_skipped")) {
      record.status = record::Status::kUnsupported;
      record.reason = state.TextOr("skip_reason", "skipped without a reason");
      return record;
    }
    AddUnknown(state);
    ReadTime(state, record);
    return record;
  }

  void ReadTime(const JsonReader& state, record::Record& record) {
    for (const auto& measurement : kTimeKeys) {
      const auto mean = Summary(state, measurement.time);
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

  // Adds each sample if there is a file of them, otherwise their mean with its deviation.
  void AddRepetitions(const JsonReader& state, const TimeKeys& measurement, double mean,
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
    repetition.aggregate = std::make_shared<record::AggregateTime>(aggregate);
    record.repetitions.push_back(std::move(repetition));
  }

  bool AddSamples(const JsonReader& state, double mean, record::Record& record) {
    for (const auto tag : kSampleTags) {
      const auto summary = FindSummary(state, tag);
      const auto file = summary ? Find(*summary, "filename") : std::nullopt;
      if (!file) continue;
      const auto path = SampleFile(file->text, where_);
      if (!path) {
        missing_.push_back(file->text);
        return false;
      }
      const auto samples = Floats(ReadFile(*path, "nvbench's samples", kMaxSampleBytes));
      double sum = 0;
      for (const double seconds : samples) sum += seconds;
      const auto size = Find(*summary, "size");
      const bool all = size && size->number == static_cast<double>(samples.size());
      constexpr double kMaxDifference = 1e-3;  // of means: samples are float32
      if (!all || !std::ranges::all_of(samples, IsRunTime) ||
          std::abs(sum / static_cast<double>(samples.size()) / mean - 1) > kMaxDifference) {
        missing_.push_back(file->text);
        return false;
      }
      for (const double seconds : samples)
        record.repetitions.push_back({.seconds = seconds, .iterations = 1});
      return true;
    }
    return false;
  }

  // Collects the tags of the author's own summaries, each once.
  void AddUnknown(const JsonReader& state) {
    if (!state.Has("summaries") || state.json().at("summaries").is_null()) return;
    for (std::size_t i = 0; i < state.Array("summaries").size(); ++i) {
      const auto tag = state.Item("summaries", i).TextOr("tag", "");
      const bool known = std::ranges::any_of(
          kKnownTags, [&](std::string_view start) { return tag.starts_with(start); });
      if (!tag.empty() && !known && std::ranges::count(unknown_, tag) == 0) unknown_.push_back(tag);
    }
  }

  void AddRemarks() {
    imported_.remarks.push_back(
        where_ + ": nvbench has no FLOPs, and the benchmark's author declares its bytes");
    for (const auto meaning : meanings_)
      imported_.remarks.push_back(fmt::format("{}: times are {}", where_, meaning));
    if (!missing_.empty())
      imported_.remarks.push_back(
          fmt::format("{}: {} of its files of samples are not there or have other samples ('{}'); "
                      "the means are read",
                      where_, missing_.size(), text::Printable(missing_.front())));
    for (const auto& name : twice_)
      imported_.remarks.push_back(
          fmt::format("{}: '{}' is there more than once; the others are '{} (2)' and so on", where_,
                      text::Printable(name), text::Printable(name)));
    AddUnknownColumns(unknown_, where_, imported_);
  }

  const std::string& where_;
  Imported imported_;
  LeftOut left_out_;
  std::map<int, std::string> devices_;  // names by number
  bool several_ = false;                // states ran on more than one GPU
  std::map<std::string, int> names_;    // number of records by name
  std::set<std::string> twice_;         // names of several records
  std::set<std::string_view> meanings_;
  std::vector<std::string> unknown_, missing_;
};

}  // namespace

bool LooksLikeNvbench(std::string_view text) {
  return text.find("\"benchmarks\"") != std::string_view::npos &&
         text.find("\"states\"") != std::string_view::npos;
}

Imported ImportNvbench(const std::string& text, const std::string& where) {
  LeftOut left_out;
  const json whole = ParsedUniqueJson(text, where, left_out);
  return NvbenchReader(where, left_out).Read(JsonReader(whole, where));
}

}  // namespace dlroof::imports
