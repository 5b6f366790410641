#include "reporters/record/run_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "reporters/record/google_benchmark.h"
#include "reporters/record/large_json.h"
#include "reporters/record/record_json.h"
#include "reporters/text/numbers.h"
#include "reporters/text/text.h"

namespace dlroof::record {
namespace {

using nlohmann::json;

constexpr const char* kImport =
    "so not a run file; 'dlroof import FILE -o run.json' makes one of another tool's file";

void ReadSkip(const std::string& message, Record& record) {
  constexpr std::array<std::pair<std::string_view, Status>, 2> kPrefixes = {
      {{kUnsupportedPrefix, Status::kUnsupported}, {kWrongPrefix, Status::kWrong}}};
  record.status = Status::kFailed;
  record.reason = message.empty() ? "no reason given" : message;
  for (const auto& [prefix, status] : kPrefixes) {
    if (message.compare(0, prefix.size(), prefix) != 0) continue;
    record.status = status;
    record.reason = message.substr(prefix.size());
  }
}

void ReadCounters(const std::map<std::string, double>& counters, Repetition& repetition,
                  Record& record) {
  // Only dlroof's keys have slashes. Returns early for 10^6 entries of other programs' files.
  if (std::ranges::none_of(counters,
                           [](const auto& row) { return row.first.find('/') != row.first.npos; }))
    return;
  repetition.seconds = FindCopy(counters, kSecondsCounter).value_or(repetition.seconds);
  if (const auto seconds = FindCopy(counters, kMainCpuSecondsCounter))
    repetition.main_cpu_seconds = seconds;
  repetition.cpu_seconds = FindCopy(counters, kCpuSecondsCounter);
  repetition.run_delay_seconds = FindCopy(counters, kRunDelayCounter);
  repetition.core_share = FindCopy(counters, kCoreShareCounter);
  repetition.link_share = FindCopy(counters, kLinkShareCounter);
  repetition.clean_calls = FindCopy(counters, kCleanCallsCounter);
  if (const auto sample = GpuSampleFromCounters(counters))
    repetition.gpu = std::make_shared<GpuSample>(*sample);
  record.work = WorkFromCounters(counters);
  if (const auto threads = FindCopy(counters, kThreadsCounter); threads && *threads > 0)
    record.threads = static_cast<int>(*threads);
  if (const auto seed = FindCopy(counters, kSeedCounter))
    record.seed = static_cast<unsigned>(*seed);
  record.evicted_bytes = FindCopy(counters, kEvictedBytesCounter);
  record.heuristic_over_best = FindCopy(counters, kHeuristicOverBestCounter);
  if (const auto cache = FindCopy(counters, kCacheCounter))
    record.cache = *cache == 0 ? "warm" : *cache == 1 ? "cold" : "cold-weights";
}

RecordCheck record_check = nullptr;  // see SetRecordCheck

struct NoJson {
  std::string fault;
};

// Reads one run file, element by element. Either "records" or "benchmarks" are used, which is known
// only at the end of the file. Errors in the array that is not used are ignored.
class RunFileReader {
 public:
  RunFileReader(const std::string& where, BenchmarkItems* items) : where_(where), items_(items) {}

  RunFile Read(std::istream& in, std::ostream& warnings) {
    const auto skeleton = EachJsonElement(
        in,
        [&](std::string_view key, std::size_t index, std::string_view text) {
          Take(key, {&file_, key, index}, text);
        },
        where_);
    if (skeleton.cut && skeleton.text.empty()) throw NoJson{"it ends too early"};
    if (skeleton.text.find_first_not_of(" \t\r\n") == std::string::npos)
      throw BadInput(where_ + ": empty file, expected a run file");
    auto whole = json::parse(skeleton.text, nullptr, false);
    if (whole.is_discarded()) {
      const bool own = skeleton.text.find("\"records\"") != std::string::npos;
      const auto repaired = own ? std::nullopt : RepairedJson(skeleton.text);
      whole = json::parse(repaired.value_or(skeleton.text));
    }
    Finish(whole, skeleton.cut);
    for (auto& record : run_.records)
      if (const auto wrong = record_check == nullptr ? std::nullopt : record_check(record);
          wrong && dropped_.count++ == 0)
        dropped_.first = fmt::format("{}: {}: {}", where_, record.name, *wrong);
    if (dropped_.count > 0)
      warnings << fmt::format(
          "{}: left out{}\n", text::Printable(dropped_.first),
          dropped_.count > 1 ? fmt::format(", as {} more", dropped_.count - 1) : "");
    for (const auto& remark : groups_.Remarks())
      warnings << fmt::format("{}: {}\n", where_, text::Printable(remark));
    if (left_out_ > 0)
      warnings << fmt::format("{}: {} of the benchmarks' entries are left out; the first: {}\n",
                              where_, left_out_, text::Printable(first_left_out_));
    if (const auto left_out = CompleteOldKernels(run_))
      warnings << fmt::format("{}: {}\n", where_, text::Printable(*left_out));
    if (!skeleton.cut) return std::move(run_);
    if (run_.records.empty()) throw BadInput(where_ + ": cut off before the first complete record");
    warnings << fmt::format("{}: cut off; read the {} complete record{}\n", where_,
                            run_.records.size(), run_.records.size() == 1 ? "" : "s");
    return std::move(run_);
  }

 private:
  void Take(std::string_view key, const JsonPlace& place, std::string_view text) {
    long_bytes_ += text.size() > kShortBytes ? text.size() : 0;
    const auto entries = *place.index + 1;
    if (entries > (key == "benchmarks" ? kMaxGoogleBenchmarkEntries : kMaxRecords) ||
        entries + kEntriesOfBenchmark * groups_.size() > kMaxEntriesAndBenchmarks ||
        long_bytes_ > kMaxFileBytes)
      throw BadInput("{}: so many entries would need too much memory: split the file",
                     place.Text());
    auto element = elements_.parse(text.data(), text.size(), false);
    std::optional<std::string> repaired;
    if (element.error() && key == "benchmarks" && (repaired = RepairedJson(text))) {
      text = *repaired;
      element = elements_.parse(*repaired);
    }
    if (element.error()) {
      const auto fault = place.Text() + ": " + error_message(element.error());
      if (key != "benchmarks") throw NoJson{fault};
      if (damaged_.empty()) damaged_ = fault;
      auto& first = errors_.at(key);
      if (!first || place.index == 0) first = std::make_exception_ptr(NoJson{fault});
      return LeaveOut(fault);
    }
    const auto known = errors_.find(key);
    if (known == errors_.end()) return;
    if (place.index == 0) known->second = nullptr;  // a second array replaces the first
    if (known->second && key != "benchmarks") return;
    try {
      if (key == "records") {
        if (place.index == 0) run_.records.clear();
        run_.records.push_back(RecordFromJson({element.value_unsafe(), place}));
      } else if (key == "benchmarks") {
        if (place.index == 0) groups_ = {};
        groups_.Add({element.value_unsafe(), place});
      } else {
        if (place.index == 0) run_.machines.clear();
        run_.machines.push_back(machine::MachineFromJson(json::parse(text), place.Text()));
      }
    } catch (const BadInput& error) {
      if (key == "benchmarks") LeaveOut(error.what());
      if (!known->second) known->second = std::current_exception();
    }
  }

  // Counts an entry that is left out. (In dlroof's own files Check makes it an error.)
  void LeaveOut(const std::string& fault) {
    if (left_out_++ == 0) first_left_out_ = fault;
  }

  // Sets the run's context and records. Uses "records" or, if the file was cut off or has none,
  // "benchmarks".
  void Finish(json& whole, bool cut) {
    const JsonReader file(whole, where_);
    if (!file.Has("benchmarks") && !file.Has("records") && cut && file.Has("context"))
      throw BadInput(where_ + ": cut off before the first complete record");
    if (!file.Has("benchmarks") && !file.Has("records"))
      throw BadInput("{}: neither 'benchmarks' nor 'records', {}", where_, kImport);
    // In another program's file a context that is no object is ignored.
    if (file.Has("context") && (file.Has("records") || file.json()["context"].is_object())) {
      run_.context = file.Object("context").json();
      DropFrom(run_.context, where_ + ": context");
      UpdateSchema(run_.context, where_);
    }
    Check(file, "machines");
    const bool stored = file.Has("records") && !(cut && file.Has("benchmarks"));
    if (stored) Check(file, "records");
    // Older versions wrote no records with --benchmark_report_aggregates_only.
    if (stored && (!run_.records.empty() || !file.Has("benchmarks"))) {
      if (!damaged_.empty()) throw NoJson{damaged_};
      left_out_ = 0;
      return;
    }
    const bool own = run_.context.contains("dlroof");
    if (own) Check(file, "benchmarks");
    for (std::size_t i = 0; i < file.Array("benchmarks").size(); ++i)
      if (!file.Array("benchmarks")[i].is_object())
        LeaveOut(fmt::format("{}: benchmarks[{}]: expected an object", where_, i));
    if (left_out_ == 0) whole["benchmarks"] = json::array();  // frees 10^6 empty objects
    run_.records = groups_.Records(file_, run_.context, items_);
    if (!own && run_.records.empty()) Check(file, "benchmarks");
    if (own) left_out_ = 0;
  }

  // Removes numbers outside their range from an object of the context.
  void DropFrom(json& object, const std::string& where) {
    for (auto member = object.begin(); member != object.end();) {
      const auto key = object.is_object() ? member.key() : std::string();
      if (member->is_structured()) DropFrom(*member, fmt::format("{}: {}", where, key));
      static constexpr NumberRange kSeed = {"seed", 0, 1.8446744073709552e19, "a seed"};
      const auto& range = key == kSeed.keys ? kSeed : RangeOf(key);
      if (!member->is_number() || range.Contains(member->get<double>())) {
        ++member;
        continue;
      }
      if (dropped_.count++ == 0)
        dropped_.first = fmt::format("{}: '{}': expected {}, got {:g}", where, key,
                                     range.Expected(), member->get<double>());
      member = object.erase(member);
    }
  }

  // Throws the first error in the array `key`, if there is one.
  void Check(const JsonReader& file, const char* key) {
    if (!file.Has(key)) return;
    for (std::size_t i = 0; i < file.Array(key).size(); ++i) file.Item(key, i);
    if (const auto error = errors_.find(key)->second) std::rethrow_exception(error);
  }

  const std::string& where_;
  BenchmarkItems* const items_;
  std::size_t long_bytes_ = 0;  // [byte] sum of the elements longer than kShortBytes
  std::string damaged_;  // the first entry of "benchmarks" that is no JSON; "" if there is none
  DroppedNumbers dropped_;
  const JsonPlace file_{nullptr, where_, std::nullopt, &dropped_};
  int left_out_ = 0;  // [1] entries of "benchmarks" that were left out
  std::string first_left_out_;
  simdjson::dom::parser elements_;
  EntryGroups groups_;
  RunFile run_;
  // The first error in each array, or null.
  std::map<std::string_view, std::exception_ptr> errors_ = {
      {"machines", nullptr}, {"records", nullptr}, {"benchmarks", nullptr}};
};

// Returns the syntax error with its position, or `otherwise` if the stream cannot be read again.
std::string SyntaxError(std::istream& in, const std::string& otherwise) {
  in.clear();
  if (!in.seekg(0)) return otherwise;
  try {
    const auto nothing = json::parse(in, [](int, json::parse_event_t, json&) { return false; });
  } catch (const json::exception& error) {
    return in.eof() ? "cut off before the first complete record" : JsonFault(error);
  }
  return otherwise;
}

RunFile Read(std::istream& in, const std::string& where, std::ostream& warnings,
             BenchmarkItems* items = nullptr) {
  const auto bytes = in.seekg(0, std::ios::end).tellg();
  constexpr auto kMost = kMaxFileBytes + kMaxGoogleBenchmarkEntries * kShortBytes;
  if (bytes > std::streamoff{kMost})
    throw BadInput("{}: {} MiB of JSON, more than the limit of {} MiB: split the file", where,
                   bytes >> 20, kMost >> 20);
  in.seekg(0);
  std::string fault;
  try {
    auto run = RunFileReader(where, items).Read(in, warnings);
    // All repetitions of a cluster file are clean: each is the time of a node, and a record's time
    // is the median over all nodes, noisy or not.
    if (Member(Member(run.context, "dlroof"), "cluster").is_number())
      for (auto& record : run.records)
        for (auto& repetition : record.repetitions) repetition.noisy = false;
    return run;
  } catch (const NoJson& error) {
    fault = SyntaxError(in, error.fault);
  } catch (const json::exception& error) {
    fault = SyntaxError(in, JsonFault(error));
  }
  in.clear();
  std::string text;
  if (in.seekg(0)) text.assign(std::istreambuf_iterator<char>(in), {});
  const auto first = text.find_first_not_of(" \t\r\n"), begin = text.find("\n{");
  const bool begins = first == text.npos || text[first] == '{';
  if (!begins && begin != text.npos) {  // the program printed lines before its JSON
    warnings << fmt::format("{}: lines before its JSON are left out\n", where);
    std::istringstream rest(text.substr(begin + 1));
    return Read(rest, where, warnings, items);
  }
  if (!begins) throw BadInput("{}: not JSON, {}", where, kImport);
  if (text.find("\"benchmarks\"") != text.npos && text.find("\"dlroof\"") == text.npos)
    fault += "; a benchmark writes JSON without its other output by LC_ALL=C, --benchmark_out=FILE";
  throw BadInput("{}: not JSON: {}", where, fault);
}

void AddMachine(machine::Machine machine, const std::string& path, RunFile& whole) {
  const auto known = std::ranges::find(whole.machines, machine.device, &machine::Machine::device);
  if (known == whole.machines.end()) {
    whole.machines.push_back(std::move(machine));
    return;
  }
  if (known->fingerprint != machine.fingerprint)
    throw BadInput("{}: its ceilings are of another machine ({}; those of the other files: {})",
                   text::Printable(path), text::Printable(machine.name),
                   text::Printable(known->name));
  known->by_threads.merge(machine.by_threads);
}

constexpr char kBeforeLabel = '@';

// Returns the file's name as a label not yet in `taken`, with '-' for separators of name parts.
std::string LabelFor(const std::string& path, std::set<std::string>& taken) {
  const std::filesystem::path file = path;
  const auto ending = file.extension();
  const bool packed = ending == ".gz" || ending == ".xz" || ending == ".zst";
  std::string stem = (packed ? file.stem().stem() : file.stem()).string();
  for (char& c : stem)
    if (c == '/' || c == kBeforeLabel || c == ' ') c = '-';
  auto label = stem.empty() ? "run" : stem;
  for (int i = 2; !taken.insert(label).second; ++i) label = fmt::format("{}.{}", stem, i);
  return label;
}

void AddLabel(const std::string& label, Record& record) {
  if (record.library.empty()) {
    record.name += kBeforeLabel + label;
    record.library = kBeforeLabel + label;
    return;
  }
  // op/device/library/...
  const auto device = record.name.find('/');
  const auto library = record.name.find('/', device + 1) + 1;
  const auto end = std::min(record.name.find('/', library), record.name.size());
  record.name.insert(end, kBeforeLabel + label);
  record.library += kBeforeLabel + label;
}

}  // namespace

Record RecordFromEntries(const std::vector<Entry>& entries, const JsonPlace* file) {
  Record record{.name = entries.at(0).name};
  SplitName(record);
  // With /manual_time the program measured e.g. a GPU's time, to which its CPU time says nothing.
  const bool own_time = ReadBenchmarkName(record.name).manual_time;
  record.repetitions.reserve(entries.size());
  for (const Entry& entry : entries) {
    if (entry.skipped) {
      ReadSkip(entry.message, record);
      continue;
    }
    if (!entry.message.empty()) continue;  // the repetition ran but has no time
    Repetition repetition;
    repetition.aggregate = entry.aggregate;
    repetition.seconds = entry.seconds;
    if (!own_time) repetition.main_cpu_seconds = entry.main_cpu_seconds;
    repetition.iterations = entry.iterations;
    ReadCounters(entry.counters, repetition, record);
    record.repetitions.push_back(std::move(repetition));
  }
  record.timed = TimedBySamples(record.repetitions);
  // A benchmark of another program, measured by dlroof (bench/library).
  if (!HasOwnForm(record) && entries.front().counters.contains(kThreadsCounter))
    PutOnDevice(record, record.timed ? "gpu" : "cpu");
  const JsonPlace benchmark{file, record.name};
  ReadLabel(entries.back().label, {&benchmark, "label"}, record);
  const auto& counters = entries.front().counters;
  if (counters.contains(kThreadsCounter) && !counters.contains(kNoiseIgnoredCounter))
    MarkNoisy(record.repetitions);
  return record;
}

bool SetRecordCheck(RecordCheck check) {
  record_check = check;
  return true;
}

void UpdateSchema(json& context, const std::string& where) {
  const auto own = context.find("dlroof");
  if (own == context.end()) return;
  JsonReader(context, where + ": context").Object("dlroof").Schema("schema", kSchema);
  (*own)["schema"] = kSchema;
}

RunFile ParseRunFile(const std::string& text, const std::string& where, std::ostream& warnings) {
  std::istringstream in(text::WithoutByteOrder(text));
  return Read(in, where, warnings);
}

BenchmarkItems ItemsIn(const std::string& text, const std::string& where) {
  BenchmarkItems items;
  std::istringstream in(text);
  std::ostringstream warnings;
  Read(in, where, warnings, &items);
  return items;
}

RunFile ReadRunFile(const std::string& path, std::ostream& warnings) {
  std::error_code none;
  if (std::filesystem::is_regular_file(InputPath(path), none)) {
    // A file that begins like JSON in UTF-8 is read element by element.
    std::ifstream file(InputPath(path), std::ios::binary);
    if (file.peek() == '{' && file.get() && file.peek() != 0 && file.unget())
      return Read(file, path, warnings);
  }
  std::istringstream in(text::PlainText(ReadFile(path, "a run file", kMaxFileBytes), path));
  return Read(in, path, warnings);
}

const machine::Machine* MachineFor(const RunFile& file, const Record& record) {
  return FindIf(file.machines, [&](const auto& known) { return known.device == record.device; });
}

RunFile SideBySide(std::vector<std::pair<std::string, RunFile>>&& files) {
  std::set<std::string> taken;
  nlohmann::json paths = nlohmann::json::array();
  for (auto& [path, file] : files) {
    const auto label = LabelFor(path, taken);
    paths.push_back(path);
    for (auto& record : file.records) AddLabel(label, record);
  }
  auto whole = JoinedRun(std::move(files));
  auto& ours = whole.context["dlroof"];
  if (ours.is_object()) ours.erase("program");
  ours["files"] = std::move(paths);
  return whole;
}

std::optional<std::string_view> LabelOf(const Record& record) {
  const std::string_view library = record.library;
  const auto at = library.find(kBeforeLabel);
  return at == std::string_view::npos ? std::nullopt : std::optional(library.substr(at + 1));
}

RunFile JoinedRun(std::vector<std::pair<std::string, RunFile>>&& files) {
  RunFile whole;
  std::map<std::pair<std::string, std::optional<int>>, std::size_t> index_of;
  const auto seconds = [](const Record& record) {
    const auto timing = TimeOf(record.repetitions);
    return timing ? timing->median : HUGE_VAL;
  };
  std::vector<std::pair<std::string, RunFile>*> newest_first;
  for (auto& file : files) newest_first.push_back(&file);
  std::ranges::stable_sort(newest_first, std::greater(),
                           [](const auto* file) { return Text(file->second.context, "date"); });
  for (auto* file : newest_first)
    for (auto& machine : file->second.machines) AddMachine(std::move(machine), file->first, whole);
  if (!files.empty()) whole.context = std::move(files.front().second.context);
  for (auto& [path, file] : files) {
    for (auto& record : file.records) {
      const auto [found, added] =
          index_of.try_emplace({record.name, record.threads}, whole.records.size());
      if (added)
        whole.records.push_back(std::move(record));
      else if (seconds(record) < seconds(whole.records[found->second]))
        whole.records[found->second] = std::move(record);
    }
  }
  return whole;
}

}  // namespace dlroof::record
