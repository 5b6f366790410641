#include "reporters/record/google_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "counters/base/keys.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

// Members that only complexity rows have (also in versions without "run_type").
constexpr std::array<const char*, 4> kComplexity = {"big_o", "rms", "cpu_coefficient",
                                                    "real_coefficient"};

double SecondsPerUnit(const JsonObject& entry, const std::string& text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  for (const auto& [unit, seconds] : kUnits)
    if (unit == text) return seconds;
  entry.Refuse("time_unit", "ns, us, ms or s");
}

// Returns the first member with this key. An author's counter may have the key of one of Google
// Benchmark's own members, which are written first.
std::optional<JsonMember> FindFirst(const JsonObject& at, std::string_view key) {
  for (const auto member : at.members())
    if (member.key == key) return JsonMember{at, member.key, member.value};
  return std::nullopt;
}

// Returns a number, or nullopt for null, which RepairedJson writes for NaN and infinity.
std::optional<double> FiniteNumber(const JsonObject& at, const char* key) {
  const auto found = FindFirst(at, key);
  if (!found) at.Refuse(key, "a number");
  if (found->value.is_null()) return std::nullopt;
  return found->Number();
}

std::optional<double> IndexOf(const JsonObject& at, const char* key) {
  static constexpr const NumberRange& kRange = RangeOf("_index");
  auto found = at.Find(key);
  if (!found) return std::nullopt;
  found->range = &kRange;
  return found->NumberOrDrop();
}

std::optional<int> RepetitionsOf(const JsonObject& at) {
  const auto found = FindFirst(at, "repetitions");
  const double count = found && found->value.is_number() ? found->Number() : 0;
  return count >= 1 ? std::optional(static_cast<int>(std::min(count, 1e9))) : std::nullopt;
}

// Returns a time [s], or nullopt for null and (after Drop) outside `possible`. `unit` is in [s].
std::optional<double> TimeOf(const JsonObject& at, const char* key, double unit,
                             const NumberRange* possible) {
  const auto time = FiniteNumber(at, key);
  if (!time) return std::nullopt;
  if (*time < 0) at.Refuse(key, "a time of at least 0");
  if (possible == nullptr || possible->Contains(*time * unit)) return *time * unit;
  FindFirst(at, key)->Drop(*time * unit, possible->Expected());
  return std::nullopt;
}

// Returns why the program skipped the entry, or nullopt if the entry ran. Google Benchmark can skip
// with an error and, since 1.8, with a message, which is no failure ("unsupported").
std::optional<std::string> SkipMessage(const JsonObject& at) {
  if (at.Flag("error_occurred")) return text::WithoutEscapes(at.TextOr("error_message", ""));
  if (!at.Flag("skipped")) return std::nullopt;
  const auto message =
      text::WithoutEscapes(at.TextOr("skip_message", at.TextOr("error_message", "")));
  const bool known = message.starts_with(kUnsupportedPrefix) || message.starts_with(kWrongPrefix);
  return known ? message
               : fmt::format("{}{}", kUnsupportedPrefix,
                             message.empty() ? "no reason given" : message);
}

// Reads an entry's times. If they are standard deviations (`deviation`), they may be nearly 0.
void ReadTimes(const JsonObject& at, bool deviation, Entry& entry) {
  const double unit = SecondsPerUnit(at, at.TextOr("time_unit", "ns"));
  const auto seconds = TimeOf(at, "real_time", unit, deviation ? nullptr : &RangeOf("seconds"));
  entry.main_cpu_seconds = TimeOf(at, "cpu_time", unit, deviation ? nullptr : &RangeOf("_seconds"));
  entry.seconds = seconds.value_or(0);
  if (!seconds)
    entry.message = FindFirst(at, "real_time")->value.is_null()
                        ? "its real_time is not a finite number"
                        : "its real_time is no time of a call";
}

void ReadAggregate(const JsonObject& at, FileEntry& read) {
  const auto name = at.Text("name"), run = at.TextOr("run_name", "");
  std::string statistic = at.TextOr("aggregate_name", "");
  if (statistic.empty() && name.size() > run.size() + 1 && name.starts_with(run))
    statistic = name.substr(run.size() + 1);
  read.statistic = statistic;
  if (at.TextOr("aggregate_unit", "time") != "time" || statistic == "cv")
    read.share = FiniteNumber(at, "real_time");
}

// Returns an entry made of a benchmark's aggregates, or nullopt without a median and a mean.
std::optional<Entry> EntryOfAggregates(const std::string& name,
                                       const std::vector<FileEntry>& aggregates) {
  const auto find = [&](std::string_view statistic) {
    return std::ranges::find(aggregates, statistic,
                             [](const FileEntry& one) { return one.statistic.value_or(""); });
  };
  const auto end = aggregates.end();
  const auto median = find("median"), mean = find("mean");
  const auto cv = find("cv"), deviation = find("stddev");
  const auto shown = median != end ? median : mean;
  if (shown == end) return std::nullopt;
  Entry entry = shown->entry;
  entry.aggregate = AggregateTime{.statistic = *shown->statistic};
  entry.aggregate->repetitions = shown->repetitions;
  if (!entry.aggregate->repetitions) entry.aggregate->repetitions = ReadBenchmarkName(name).repeats;
  if (deviation != end && mean != end && mean->entry.seconds > 0)
    entry.aggregate->deviation = deviation->entry.seconds / mean->entry.seconds;
  else if (cv != end && cv->share)
    entry.aggregate->deviation = std::abs(*cv->share);
  return entry;
}

constexpr std::string_view kBytesRate = "bytes_per_second";

struct FlopRate {
  std::string_view name;
  double scale;  // [flop/s] per unit of the counter
};
// Names of counters that are rates. "flops" and "FLOPs" are not in the list: they may be counts.
constexpr FlopRate kFlopRates[] = {
    {"FLOPS", 1},           {"FLOP/s", 1},           {"FLOPs/s", 1},
    {"flop/s", 1},          {"flops/s", 1},          {"FLOPS/s", 1},
    {"Flops/s", 1},         {"flops_per_second", 1}, {"FLOP_per_second", 1},
    {"flop_per_second", 1}, {"FLOPs_per_second", 1}, {"MFLOPS", 1e6},
    {"MFLOP/s", 1e6},       {"MFLOPs/s", 1e6},       {"GFLOPS", 1e9},
    {"GFLOP/s", 1e9},       {"GFLOPs/s", 1e9},       {"GFlops", 1e9},
    {"GFlop/s", 1e9},       {"gflops", 1e9},         {"TFLOPS", 1e12},
    {"TFLOP/s", 1e12},      {"TFLOPs/s", 1e12}};

// Returns the factor from a rate's unit to its base unit, or nullopt for a counter that is no rate.
std::optional<double> RateScale(std::string_view counter) {
  if (counter == kBytesRate) return 1;
  for (const auto& [name, scale] : kFlopRates)
    if (name == counter) return scale;
  return std::nullopt;
}

// Reads rates and dlroof's own counters. Drops those outside their range; ignores other counters.
void ReadCounters(const JsonObject& at, FileEntry& read) {
  for (const auto [key, element] : at.members()) {
    double value = 0;
    if (element.get(value) != simdjson::SUCCESS) continue;
    const auto scale = RateScale(key);
    const bool own = key == "threads" || key.starts_with("dlroof/") ||
                     ProvenanceFromKey(key.substr(0, key.find('/')));
    if (!scale && !own && !key.ends_with("_per_second")) continue;
    const auto& possible = scale ? RangeOf("per_second") : own ? RangeOf(key) : kAnyNumber;
    const bool unset = scale && value == 0;  // a rate of 0 means unknown
    if ((scale || own) && !unset && !possible.Contains(value * scale.value_or(1)))
      JsonMember{at, key, element}.Drop(value, possible.Expected());
    else if (key != "threads")
      read.entry.counters.try_emplace(std::string(key), value);
    else if (!read.threads)
      read.threads = static_cast<int>(value);
  }
}

struct TypeWord {
  std::string_view word, type;
};
constexpr TypeWord kTypeWords[] = {{"double", "fp64"},  {"f64", "fp64"},     {"fp64", "fp64"},
                                   {"float64", "fp64"}, {"float", "fp32"},   {"f32", "fp32"},
                                   {"fp32", "fp32"},    {"float32", "fp32"}, {"half", "fp16"},
                                   {"f16", "fp16"},     {"fp16", "fp16"},    {"float16", "fp16"},
                                   {"bf16", "bf16"},    {"bfloat16", "bf16"}};

bool IsWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Returns the type that a word of the name means, or nullopt if no type or several are meant.
std::optional<std::string_view> TypeIn(std::string_view name) {
  std::set<std::string_view> types;
  for (const auto* at = name.begin(); at != name.end();) {
    const auto* const begin = std::find_if(at, name.end(), IsWordCharacter);
    at = std::find_if_not(begin, name.end(), IsWordCharacter);
    const auto* const known =
        FindIf(kTypeWords, [&](auto& row) { return row.word == std::string_view(begin, at); });
    if (known != nullptr) types.insert(known->type);
  }
  return types.size() == 1 ? std::optional(*types.begin()) : std::nullopt;
}

std::optional<double> RateOf(const Entry& entry, std::string_view name, double scale) {
  const double rate = scale * FindCopy(entry.counters, std::string(name)).value_or(0);
  return rate > 0 ? std::optional(rate) : std::nullopt;
}

// Returns the nearest whole number if `count` (rate x seconds) differs by rounding, else `count`.
double WholeIfNear(double count) {
  constexpr double kRounding = 1e-6;
  const double whole = std::round(count);
  return std::abs(count - whole) <= kRounding * std::min(1.0, count) ? whole : count;
}

std::optional<double> FlopsIn(const std::map<Provenance, Work>& works) {
  for (const auto& [from, work] : works)
    if (const auto flops = TotalFlops(work)) return flops;
  return std::nullopt;
}

void AddNote(std::string text, Record& record) {
  CountingNote note{std::string(kRateSource), Provenance::kModelled, std::move(text)};
  if (std::ranges::find(record.counting, note) == record.counting.end())
    record.counting.push_back(std::move(note));
}

// Computes bytes and FLOPs per call from the entry's rates and adds them as modelled work, unless
// the record already has bytes or FLOPs. bytes_per_second (SetBytesProcessed) counts bytes at DRAM.
// The pipe of a FLOP rate (kFlopRates) has the type in the benchmark's name ("BM_Gemm<double>"),
// otherwise it is fp32.vector: this vector roof is the highest, so percentages are lower limits. A
// note says so. `name` is the name in the file; `seconds` comes from ApplyThreadRule.
void AddWorkOfRates(std::string_view name, const Entry& entry, std::optional<double> seconds,
                    Record& record) {
  if (!seconds || entry.counters.empty()) return;
  const auto has_bytes = [](const auto& item) { return !item.second.bytes.empty(); };
  if (const auto rate = RateOf(entry, kBytesRate, 1);
      rate && std::ranges::none_of(record.work, has_bytes)) {
    record.work[Provenance::kModelled].bytes[Level::kDram] = WholeIfNear(*rate * *seconds);
    AddNote("bytes that the benchmark's author declares (bytes_per_second), taken as DRAM traffic",
            record);
  }
  if (FlopsIn(record.work)) return;
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

// Returns whether work came from rates by CPU time, which is not within 10 % of the wall time.
bool HasOtherRates(const Entry& entry, std::optional<double> seconds, const Record& record) {
  return seconds && !record.counting.empty() && record.counting.back().source == kRateSource &&
         std::abs(entry.seconds / *seconds - 1) > 0.1;
}

std::string OneThread(const std::string& name) {
  constexpr std::string_view kThreads = "/threads:";
  const auto at = name.rfind(kThreads);
  return at == name.npos ? name : name.substr(0, at + kThreads.size()) + '1';
}

// For each value in `summed`, a total over the threads, sets the value of one thread in `work`.
void Divide(const Work& summed, int threads, Work& work) {
  const auto divide = [&](const auto& sums, auto& members) {
    for (const auto& [key, sum] : sums) members[key] = WholeIfNear(sum / threads);
  };
  divide(summed.flops, work.flops);
  divide(summed.bytes, work.bytes);
  divide(summed.parts, work.parts);
  if (summed.launches) work.launches = WholeIfNear(*summed.launches / threads);
}

// How a version of Google Benchmark reports n threads with equal iterations. In every version
// counters are sums over the threads, unless the program averages them.
enum class ThreadRule {
  kDividedTimes,  // before 1.9.0: times are wall time / iterations of all threads
  kRatesOfOne,    // 1.9.0 to 1.9.4: times are n times as long; rates are those of one thread
  kRatesOfAll,    // since 1.9.5: times are n times as long; rates are those of all threads together
  kUnknown
};

// Returns the rule for the context's "library_version", which versions before 1.8.4 do not write.
ThreadRule ThreadRuleOf(const nlohmann::json& context) {
  if (Member(context, "library_version").is_null())
    return Member(context, "json_schema_version").is_null() ? ThreadRule::kDividedTimes
                                                            : ThreadRule::kUnknown;
  // "v1.9.4" is a release, "v1.9.4-7-gb2e1" a commit between it and the next one.
  int major = 0, minor = 0, patch = 0, end = 0;
  const auto text = Text(context, "library_version");
  if (std::sscanf(text.c_str(), "%*[v]%d.%d.%d%n", &major, &minor, &patch, &end) < 3 &&
      std::sscanf(text.c_str(), "%d.%d.%d%n", &major, &minor, &patch, &end) < 3)
    return ThreadRule::kUnknown;
  const std::array version = {major, minor, patch};
  const bool release = text.substr(static_cast<std::size_t>(end)).find("-g") == std::string::npos;
  constexpr std::array kTimes = {1, 9, 0}, kRates = {1, 9, 5};  // changed times; changed rates
  constexpr std::array kBeforeTimes = {1, 8, 4}, kBeforeRates = {1, 9, 4};
  if (version == std::array{0, 0, 0}) return ThreadRule::kUnknown;
  if (!release && (version == kBeforeRates || (version >= kBeforeTimes && version < kTimes)))
    return ThreadRule::kUnknown;
  return version < kTimes   ? ThreadRule::kDividedTimes
         : version < kRates ? ThreadRule::kRatesOfOne
                            : ThreadRule::kRatesOfAll;
}

// Converts the entry's time to the time by kDividedTimes, so that all versions can be compared.
// Returns the time [s] by which the program divided the entry's rates (rate x time is an amount per
// call), or nullopt if it is unknown. It is the wall time if `name`, the name in the file, has
// /real_time or /manual_time, otherwise the CPU time.
std::optional<double> ApplyThreadRule(ThreadRule rule, std::string_view name, int threads,
                                      Entry& entry) {
  const auto read = ReadBenchmarkName(name);
  const bool wall = read.real_time || read.manual_time;
  auto seconds = wall ? std::optional(entry.seconds) : entry.main_cpu_seconds;
  if (seconds && !(*seconds > 0)) seconds.reset();
  if (threads < 2) return seconds;
  if (rule == ThreadRule::kUnknown) return std::nullopt;
  if (rule == ThreadRule::kRatesOfAll && seconds) *seconds /= threads;
  if (rule != ThreadRule::kDividedTimes) entry.seconds /= threads;
  return seconds;
}

// Reads an entry. Returns nullopt for a complexity row (BigO, RMS).
std::optional<FileEntry> FileEntryFromJson(const JsonObject& at) {
  const auto type = at.TextOr("run_type", "");
  for (const char* key : kComplexity)
    if (type != "iteration" && at.Find(key)) return std::nullopt;
  FileEntry read;
  Entry& entry = read.entry;
  entry.name = at.TextOr("run_name", at.Text("name"));
  entry.label = at.TextOr("label", "");
  if (type == "aggregate") ReadAggregate(at, read);
  if (read.statistic == "BigO" || read.statistic == "RMS") return std::nullopt;
  read.repetitions = RepetitionsOf(at);
  read.family = IndexOf(at, "family_index");
  read.instance = IndexOf(at, "per_family_instance_index");
  read.repetition = IndexOf(at, "repetition_index");
  if (auto message = SkipMessage(at)) {
    entry.skipped = true;
    entry.message = *std::move(message);
    return read;
  }
  const bool deviation = read.statistic && *read.statistic != "median" && *read.statistic != "mean";
  ReadTimes(at, deviation, entry);
  if (at.Find("iterations")) entry.iterations = FiniteNumber(at, "iterations").value_or(0);
  if (!deviation) ReadCounters(at, read);
  return read;
}

}  // namespace

EntryGroups::Group& EntryGroups::GroupOf(const std::string& name, const FileEntry& read) {
  auto key = name;
  if (read.family) {
    const std::array indices = {*read.family, read.instance.value_or(0)};
    key.append(reinterpret_cast<const char*>(indices.data()), sizeof(indices));
  }
  const auto [found, added] = group_of_.try_emplace(std::move(key), groups_.size());
  if (added) groups_.push_back({.name = name});
  return groups_[found->second];
}

void EntryGroups::Add(const JsonObject& at) {
  auto read = FileEntryFromJson(at);
  if (!read) return;
  const auto name = std::move(read->entry.name);
  Group& group = GroupOf(name, *read);
  if (!group.threads) group.threads = read->threads;
  if (read->statistic) {
    group.aggregates.push_back(*std::move(read));
    return;
  }
  if (read->repetition && !group.repetitions.insert(*read->repetition).second)
    throw BadInput("{}: '{}' has repetition {:.0f} twice: two benchmarks with the same name?",
                   at.where(), group.name, *read->repetition);
  group.announced = std::max(group.announced, read->repetitions.value_or(0));
  constexpr int kMostReserved = 100;
  if (group.entries.empty()) group.entries.reserve(std::clamp(group.announced, 1, kMostReserved));
  group.entries.push_back(std::move(read->entry));
}

void EntryGroups::Complete() {
  int means = 0, incomplete = 0;
  for (auto& group : groups_) {
    const bool skipped = std::ranges::any_of(group.entries, &Entry::skipped);
    incomplete += !skipped && std::ssize(group.entries) < group.announced ? 1 : 0;
    if (!group.entries.empty()) continue;
    auto entry = EntryOfAggregates(group.name, group.aggregates);
    if (!entry) continue;
    means += entry->aggregate->statistic == "mean" ? 1 : 0;
    group.entries = {*std::move(entry)};
  }
  if (means > 0)
    remarks_.push_back(
        fmt::format("the time of {} benchmarks is their mean, since they have no median", means));
  if (incomplete > 0)
    remarks_.push_back(
        fmt::format("{} benchmarks have fewer repetitions in the file than they ran", incomplete));
}

void EntryGroups::Remark(int count, const char* what) {
  if (count > 0) remarks_.push_back(fmt::format("{} benchmarks with threads: {}", count, what));
}

void EntryGroups::AddWorkOfThreads(std::vector<Record>& records) {
  int divided = 0, unknown = 0;
  std::map<std::string, std::optional<double>> flops_of_one;
  for (const auto& pending : pending_) flops_of_one[pending.one_thread];
  for (const auto& record : records)
    if (const auto found = flops_of_one.find(record.name);
        found != flops_of_one.end() && record.threads == 1)
      found->second = FlopsIn(record.work);
  for (auto& pending : pending_) {
    Record& record = records[pending.record];
    const auto one = flops_of_one.find(pending.one_thread);
    const auto is = [&](std::optional<double> flops, double threads) {
      constexpr double kRounding = 1e-3;
      return flops && one->second && std::abs(*flops / threads / *one->second - 1) < kRounding;
    };
    const auto own = FlopsIn(pending.own), all = FlopsIn(record.work);
    if (!is(own, 1)) {
      divided += pending.own.empty() || is(own, pending.threads) ? 0 : 1;
      for (auto& [from, work] : pending.own) Divide(work, pending.threads, record.work[from]);
    }
    if (own || !all || is(all, 1)) continue;
    if (is(all, pending.threads)) {
      for (auto& [from, work] : record.work)
        for (auto& [pipe, count] : work.flops) count = WholeIfNear(count / pending.threads);
      continue;
    }
    ++unknown;
    for (auto& [from, work] : record.work) work.flops.clear();
    std::erase_if(record.counting, [](const CountingNote& note) {
      return note.source == kRateSource && note.text.starts_with("FLOPs");
    });
  }
  Remark(divided, "dlroof's counters are taken as sums over threads, and divided by their number");
  Remark(unknown,
         "FLOPs are unknown: the program may have summed the rate over threads or averaged it; run "
         "it with one thread too (Threads(1)), or use the counter modelled/flops/PIPE");
}

std::vector<Record> EntryGroups::Records(const JsonPlace& file, const nlohmann::json& context,
                                         BenchmarkItems* items) {
  Complete();
  const bool own = context.contains("dlroof");
  const auto rule = ThreadRuleOf(context);
  int threaded = 0, of_cpu_time = 0;
  double wall_by_cpu = 0;  // [1] wall / CPU time of the first benchmark with rates per CPU time
  std::erase_if(groups_, [](const Group& group) { return group.entries.empty(); });
  std::map<std::string, int> bare;
  std::unordered_map<std::string_view, int> seen;
  if (own)
    for (const auto& group : groups_) ++bare[BareName(group.name)];
  group_of_.clear();
  std::vector<Record> records;
  records.reserve(groups_.size());
  for (auto& group : groups_) {
    auto entries = std::move(group.entries);  // frees each group's memory early
    auto name = group.name;
    if (own && bare.at(BareName(name)) == 1) name = BareName(name);
    if (const int number = ++seen[group.name]; number > 1) name += fmt::format(" ({})", number);
    std::optional<double> rate_seconds;
    const auto threads = group.threads ? group.threads : ReadBenchmarkName(group.name).threads;
    for (auto& entry : entries) {
      entry.name = name;
      if (!own && !entry.skipped)
        rate_seconds = ApplyThreadRule(rule, group.name, threads.value_or(1), entry);
    }
    records.push_back(RecordFromEntries(entries, &file));
    if (own) continue;
    Record& record = records.back();
    const Entry& entry = entries.back();
    if (record.status != Status::kOk) continue;
    if (record.repetitions.empty()) record.reason = entry.message;
    auto counted = record.work;
    AddWorkOfRates(group.name, entry, rate_seconds, record);
    if (items && rate_seconds)
      if (const auto rate = RateOf(entry, "items_per_second", 1))
        (*items)[name] = *rate * *rate_seconds;
    if (!record.threads) record.threads = threads;
    if (record.threads.value_or(1) < 2) {
      if (HasOtherRates(entry, rate_seconds, record) && of_cpu_time++ == 0)
        wall_by_cpu = entry.seconds / *rate_seconds;
      continue;
    }
    threaded += 1;
    if (rule == ThreadRule::kUnknown) {
      record.work.clear();
      record.counting.clear();
      continue;
    }
    pending_.push_back(
        {records.size() - 1, OneThread(group.name), *record.threads, std::move(counted)});
  }
  groups_ = {};
  AddWorkOfThreads(records);
  if (of_cpu_time > 0)
    remarks_.push_back(fmt::format(
        "the program's rates of {} benchmarks are of CPU time, those here of wall time: the "
        "program's are {:.3g} times as high (the first)",
        of_cpu_time, wall_by_cpu));
  if (rule == ThreadRule::kUnknown)
    Remark(threaded,
           "their work is unknown: times and rates were divided by threads in another way "
           "until 1.9.0 and 1.9.5, and the file has no library_version of a release");
  else if (rule != ThreadRule::kDividedTimes)
    Remark(threaded,
           "times are divided by the number of threads, as Google Benchmark itself did "
           "before 1.9.0: of one iteration among those of all threads");
  return records;
}

}  // namespace dlroof::record
