// A record in Google Benchmark's counters, labels and names, and the names of kernels.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <set>

#include "counters/base/keys.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record_json.h"
#include "reporters/record/run_file.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

constexpr std::string_view kGpuPrefix = "dlroof/gpu/";
constexpr std::string_view kCacheStates[] = {"warm", "cold", "cold-weights"};
constexpr std::string_view kLabelBegin = R"({"dlroof":)";

// Stores a value in `work` by its key, e.g. "flops/fp32.vector". Ignores unknown keys, but returns
// false for an unknown pipe.
bool ReadQuantity(std::string_view quantity, double value, Work& work) {
  const auto slash = quantity.find('/');
  const auto kind = quantity.substr(0, slash);
  if (slash == std::string_view::npos) {
    if (kind == "launches") work.launches = value;
    return true;
  }
  const auto key = quantity.substr(slash + 1);
  if (kind == "flops" && !IsPipeKey(key)) return false;
  if (kind == "flops") work.flops[std::string(key)] = value;
  if (kind == "parts") work.parts[std::string(key)] = value;
  if (kind == "bytes")
    if (const auto level = LevelFromKey(key)) work.bytes[*level] = value;
  return true;
}

// Removes "/key" or, with `has_value`, "/key:NUMBER" from the end of the name. Returns the number's
// text ("" without `has_value`), or nullopt if the name does not end so.
std::optional<std::string_view> TakeSetting(std::string_view key, bool has_value,
                                            std::string_view& name) {
  const auto slash = name.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return std::nullopt;
  auto setting = name.substr(slash + 1);
  if (!setting.starts_with(key)) return std::nullopt;
  setting.remove_prefix(key.size());
  if (has_value == setting.empty()) return std::nullopt;
  if (has_value) {
    if (setting.front() != ':') return std::nullopt;
    setting.remove_prefix(1);
    if (!(ParseNumber<double>(setting) >= 0)) return std::nullopt;
  }
  name = name.substr(0, slash);
  return setting;
}

std::optional<int> TakeCount(std::string_view key, std::string_view& name) {
  auto shorter = name;
  const auto text = TakeSetting(key, true, shorter);
  if (!text) return std::nullopt;
  const auto count = ParseNumber<int>(*text);
  if (!(count >= 1)) return std::nullopt;
  name = shorter;
  return count;
}

// The kernels of counters/cuda/clock_kernels.cu.
constexpr std::array<std::string_view, 4> kClockKernels = {"Empty", "Hold", "ReadAll",
                                                           "WriteStamps"};
constexpr std::string_view kProfileCommand = "dlroof profile --gpu ";

// Returns a qualified name without its namespaces.
std::string_view OwnName(std::string_view function) {
  const auto colons = function.rfind("::");
  return colons == std::string_view::npos ? function : function.substr(colons + 2);
}

bool HasOldKernels(const nlohmann::json& context) {
  const auto& own = Member(context, "dlroof");
  return Text(own, "command").starts_with(kProfileCommand) ||
         Text(Member(own, "imported"), "format") == "ncu";
}

// Cuts `text` off before `mark` and returns the text after it; an empty text if there is no mark.
std::string_view CutAt(std::string_view mark, std::string_view& text) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + mark.size());
  text = text.substr(0, at);
  return rest;
}

// Removes the first name from a list and returns it, e.g. "A<B, C>" of "A<B, C>, D".
std::string_view CutName(std::string_view& names) {
  int depth = 0;
  std::size_t end = 0;
  for (; end < names.size() && (depth > 0 || !names.substr(end).starts_with(", ")); ++end)
    depth += names[end] == '<' ? 1 : names[end] == '>' ? -1 : 0;
  const auto name = names.substr(0, end);
  names.remove_prefix(std::min(end + 2, names.size()));
  return name;
}

// Reads e.g. "NAME, 3 x NAME, 4 more". Adds no kernel for "4 more", whose names are unknown.
void AddKernels(std::string_view names, std::vector<LaunchedKernel>& kernels) {
  while (!names.empty()) {
    std::string_view name = CutName(names);
    int count = 0;
    const auto* const end = std::from_chars(name.data(), name.data() + name.size(), count).ptr;
    const auto behind = name.substr(static_cast<std::size_t>(end - name.data()));
    if (behind == " more") continue;
    if (behind.starts_with(" x "))
      kernels.push_back({std::string(behind.substr(3)), count});
    else
      kernels.push_back({std::string(name)});
  }
}

}  // namespace

std::map<std::string, double> ToCounters(const std::map<Provenance, Work>& works) {
  std::map<std::string, double> counters;
  for (const auto& [from, work] : works) {
    for (const auto& [pipe, flops] : work.flops)
      counters[fmt::format("{}/flops/{}", Key(from), pipe)] = flops;
    for (const auto& [level, bytes] : work.bytes)
      counters[fmt::format("{}/bytes/{}", Key(from), Key(level))] = bytes;
    for (const auto& [part, flops] : work.parts)
      counters[fmt::format("{}/parts/{}", Key(from), part)] = flops;
    if (work.launches) counters[fmt::format("{}/launches", Key(from))] = *work.launches;
  }
  return counters;
}

std::map<Provenance, Work> WorkFromCounters(const std::map<std::string, double>& counters) {
  std::map<Provenance, Work> works;
  std::set<Provenance> unknown;  // with FLOPs on an unknown pipe, so that their sum is unknown
  for (const auto& [key, value] : counters) {
    const std::string_view text = key;
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) continue;
    const auto from = ProvenanceFromKey(text.substr(0, slash));
    if (!from) continue;
    Work read = works[*from];
    if (!ReadQuantity(text.substr(slash + 1), value, read)) unknown.insert(*from);
    works[*from] = read;
  }
  for (const auto from : unknown) works[from].flops.clear();
  std::erase_if(works, [](const auto& item) { return item.second == Work{}; });
  return works;
}

std::map<std::string, double> ToCounters(const Record& record, const Repetition& repetition,
                                         bool own_seconds) {
  auto counters = ToCounters(record.work);
  // Google Benchmark's times include noisy calls, its CPU time also the flushing of caches.
  const bool parts = repetition.clean_calls.has_value();
  const std::optional<double> none;
  const std::pair<const char*, std::optional<double>> known[] = {
      {kCpuSecondsCounter, repetition.cpu_seconds},
      {kRunDelayCounter, repetition.run_delay_seconds},
      {kCoreShareCounter, repetition.core_share},
      {kLinkShareCounter, repetition.link_share},
      {kCleanCallsCounter, repetition.clean_calls},
      {kSecondsCounter, parts || own_seconds ? repetition.seconds : none},
      {kMainCpuSecondsCounter, parts || record.evicted_bytes ? repetition.main_cpu_seconds : none},
      {kEvictedBytesCounter, record.evicted_bytes},
      {kHeuristicOverBestCounter, record.heuristic_over_best},
      {kThreadsCounter, record.threads},
      {kSeedCounter, record.seed}};
  for (const auto& [key, value] : known)
    if (value) counters[key] = *value;
  if (const auto* const cache = std::ranges::find(kCacheStates, record.cache.value_or(""));
      cache != std::end(kCacheStates))
    counters[kCacheCounter] = static_cast<double>(cache - std::begin(kCacheStates));
  if (repetition.gpu)
    for (const auto& [key, member] : GpuSampleFields())
      if (const auto& value = *repetition.gpu.*member)
        counters[fmt::format("{}{}", kGpuPrefix, key)] = *value;
  return counters;
}

std::optional<GpuSample> GpuSampleFromCounters(const std::map<std::string, double>& counters) {
  std::optional<GpuSample> sample;
  const auto first = counters.lower_bound(std::string(kGpuPrefix));
  if (first == counters.end() || !first->first.starts_with(kGpuPrefix)) return sample;
  for (const auto& [key, member] : GpuSampleFields()) {
    const auto value = FindCopy(counters, fmt::format("{}{}", kGpuPrefix, key));
    if (value && !sample) sample.emplace();
    if (value) *sample.*member = value;
  }
  return sample;
}

std::string ToLabel(const Record& record) {
  const auto facts = LabelFacts(record);
  if (facts.empty()) return "";
  return fmt::format("{}{}}}", kLabelBegin,
                     facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void ReadLabel(const std::string& label, const JsonPlace& place, Record& record) {
  if (!label.starts_with(kLabelBegin)) return ReadSentences(label, record);
  static thread_local simdjson::dom::parser parser;
  simdjson::dom::element whole;
  if (const auto error = parser.parse(label).get(whole))
    throw BadInput("{}: not JSON: {}", place.Text(), error_message(error));
  ReadLabelFacts(JsonObject(whole, place).Find("dlroof")->Object(), record);
}

BenchmarkName ReadBenchmarkName(std::string_view name) {
  BenchmarkName read;
  read.threads = TakeCount("threads", name);
  read.real_time = TakeSetting("real_time", false, name).has_value();
  read.manual_time = !read.real_time && TakeSetting("manual_time", false, name).has_value();
  read.process_time = TakeSetting("process_time", false, name).has_value();
  read.repeats = TakeCount("repeats", name);
  for (const std::string_view key : {"iterations", "min_warmup_time", "min_time"})
    TakeSetting(key, true, name);
  read.bare = name;
  return read;
}

std::string BareName(const std::string& name) {
  const auto read = ReadBenchmarkName(name);
  const auto threads = read.threads ? name.rfind("/threads:") : name.size();
  return std::string(read.bare).append(name, threads);
}

std::string ListedName(const std::string& bare, bool manual_time) {
  return bare + (manual_time ? "/manual_time" : "/real_time");
}

KernelRecordName KernelNameOf(const Record& record) {
  const std::string_view name = record.name;
  // In a kernel's own name a slash can only be within template arguments or parameters.
  const auto end = name.find_first_of("/<(");
  if (end == std::string_view::npos || name[end] != '/') return {"", name};
  return {name.substr(0, end), name.substr(end + 1)};
}

bool IsClockKernel(std::string_view kernel) {
  const auto function = text::KernelFunction(kernel);
  return function.starts_with("dlroof::") &&
         std::ranges::count(kClockKernels, OwnName(function)) > 0;
}

std::optional<std::string> LeaveOutClockKernels(std::vector<Record>& records) {
  std::set<std::string> names;
  double launches = 0, seconds = 0;
  std::erase_if(records, [&](const Record& record) {
    const auto kernel = KernelNameOf(record).kernel;
    if (!IsClockKernel(kernel)) return false;
    names.emplace(OwnName(text::KernelFunction(kernel)));
    if (const auto* const work = FindValue(record.work, Provenance::kMeasured))
      launches += work->launches.value_or(0);
    for (const auto& repetition : record.repetitions) seconds += repetition.seconds;
    return true;
  });
  if (names.empty()) return std::nullopt;
  return fmt::format(
      "left out: dlroof's own kernels, with which it times calls ({}): {:.0f} launch{}, {}",
      fmt::join(names, ", "), launches, launches == 1 ? "" : "es", text::WithPrefix(seconds, "s"));
}

std::optional<std::string> CompleteOldKernels(RunFile& run) {
  const bool marked = std::ranges::any_of(
      run.records, [](const Record& record) { return record.timed.has_value(); });
  if (marked || !HasOldKernels(run.context)) return std::nullopt;
  for (auto& record : run.records) record.timed = timed::kKernels;
  return LeaveOutClockKernels(run.records);
}

void TakeIsa(Record& record) {
  constexpr std::string_view kMark = "; isa ";
  const auto mark = record.algorithm.rfind(kMark);
  if (mark == std::string::npos) return;
  record.isa = record.algorithm.substr(mark + kMark.size());
  record.algorithm.resize(mark);
}

void AddSentence(std::string_view sentence, Record& record) {
  CountingNote& note = record.counting.emplace_back();
  note.text = sentence;
  const auto how = CutAt(": ", sentence);
  note.provenance = ProvenanceFromKey(sentence);
  if (note.provenance) note.text = how;
  std::string_view text = note.text;
  auto kernels = CutAt(" kernel launch", text);
  kernels = CutAt(": ", kernels);
  CutAt("; ", kernels);
  AddKernels(kernels, record.kernels);
}

void ReadSentences(std::string_view label, Record& record) {
  if (const auto repro = CutAt("; repro: ", label); !repro.empty()) record.repro = repro;
  for (auto rest = CutAt("; counted: ", label); !rest.empty();) {
    auto sentence = rest;
    rest = CutAt(" | ", sentence);
    AddSentence(sentence, record);
  }
  record.verified = CutAt("; verified: ", label);
  record.algorithm = label;
  TakeIsa(record);
}

}  // namespace dlroof::record
