#include "ceilings/machine_file/specified_machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <utility>

#include "counters/base/error.h"
#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "counters/delta/prediction.h"

namespace dlroof::machine_file {
namespace {

using nlohmann::json;

// An iterator over a text that counts how many characters the JSON parser has read.
struct CountedReader {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  const char** reached;

  reference operator*() const { return *at; }
  CountedReader& operator++() {
    *reached = ++at;
    return *this;
  }
  bool operator==(const CountedReader& other) const { return at == other.at; }
  bool operator!=(const CountedReader& other) const { return at != other.at; }
};

bool IsQuote(std::string_view text, std::size_t at) {
  if (text[at] != '"') return false;
  std::size_t slashes = 0;
  while (slashes < at && text[at - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 0;
}

}  // namespace

LocatedJson::LocatedJson(std::string text, std::string file)
    : text_(std::move(text)), file_(std::move(file)), value_(Parsed()) {}

json LocatedJson::Parsed() try {
  RefuseDeepJson(text_, file_);
  const char* reached = text_.data();
  Path path;
  std::vector<int> next;  // of each open array: index of its next item; of an object: -1
  const auto visit = [&](int, json::parse_event_t event, json& parsed) {
    const bool array = event == json::parse_event_t::array_start;
    const bool opens = array || event == json::parse_event_t::object_start;
    const bool begins = opens || event == json::parse_event_t::value;
    if (begins && !next.empty() && next.back() >= 0)
      path.back() = fmt::format("[{}]", next.back()++);
    if (opens) {
      path.emplace_back();
      next.push_back(array ? 0 : -1);
    }
    if (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end) {
      path.pop_back();
      next.pop_back();
    }
    if (event == json::parse_event_t::key)
      RecordOffset(parsed.get<std::string>(), static_cast<std::size_t>(reached - text_.data()),
                   path);
    return true;
  };
  const char* end = text_.data() + text_.size();
  return json::parse(CountedReader{text_.data(), &reached}, CountedReader{end, &reached}, visit);
} catch (const json::parse_error& refusal) {
  const auto at = std::min(refusal.byte == 0 ? 0 : refusal.byte - 1, text_.size());
  throw BadInput("{}: is not JSON at {}; expected JSON with numbers such as 6.7e13", At(at),
                 WordAt(at));
} catch (const json::out_of_range&) {
  throw BadInput("{}: a number is out of the range of double", file_);
}

// Stores the position of a key. `end` is the byte position after the key's closing quote.
void LocatedJson::RecordOffset(const std::string& key, std::size_t end, Path& path) {
  std::size_t begin = end - 2;
  while (begin > 0 && !IsQuote(text_, begin)) --begin;
  path.back() = key;
  const auto [found, added] = offsets_.try_emplace(path, begin);
  if (!added)
    throw BadInput("{}: '{}' is repeated; expected each key once, the first is at {}", At(begin),
                   key, At(found->second));
}

std::string LocatedJson::At(std::size_t offset) const {
  const auto before = std::string_view(text_).substr(0, offset);
  const auto line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", file_, 1 + std::count(before.begin(), before.end(), '\n'),
                     offset - line_begin + 1);
}

// Returns the word or, if there is none, the character at `offset`, in quotes: "'NaN'".
std::string LocatedJson::WordAt(std::size_t offset) const {
  const auto in_word = [&](std::size_t at) {
    return at < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at])) != 0;
  };
  if (offset >= text_.size()) return "its end";
  constexpr std::size_t kMaxLength = 20;
  std::size_t begin = offset, end = offset + 1;
  while (in_word(offset) && begin > 0 && in_word(begin - 1)) --begin;
  while (in_word(offset) && in_word(end)) ++end;
  return fmt::format("'{}'",
                     std::string_view(text_).substr(begin, std::min(end - begin, kMaxLength)));
}

std::string LocatedJson::Where(const Path& path) const {
  const auto found = offsets_.find(path);
  return found == offsets_.end() ? file_ : At(found->second);
}

LocatedObject::LocatedObject(const LocatedJson& file, const nlohmann::json& object,
                             LocatedJson::Path path, const std::vector<std::string>& known)
    : file_(file), object_(object), path_(std::move(path)) {
  if (!object_.is_object()) throw BadInput("{}: expected an object", Where());
  for (const auto& key : Keys())
    if (!known.empty() && std::ranges::find(known, key) == known.end())
      throw BadInput("{}: unknown key '{}', expected {}", Where(key), key, fmt::join(known, ", "));
}

std::vector<std::string> LocatedObject::Keys() const {
  return VectorOf<std::string>(object_.items(), [](const auto& item) { return item.key(); });
}

std::string LocatedObject::Text(const std::string& key) const {
  const auto& value = Needed(key);
  if (!value.is_string() || value.get<std::string>().empty())
    Refuse(key, "a text that is not empty");
  return value.get<std::string>();
}

double LocatedObject::Number(const std::string& key, double least, double most) const {
  const auto& value = Needed(key);
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number > 0 && number >= least && number <= most) return number;
  const auto from = least > 0 ? fmt::format("from {:g}", least) : std::string("above 0");
  const bool limited = most < kLargestNumber;
  Refuse(key,
         fmt::format("a number {}{}", from, limited ? fmt::format(", at most {:g}", most) : ""));
}

LocatedObject LocatedObject::Object(const std::string& key,
                                    const std::vector<std::string>& known) const {
  return {file_, Needed(key), PathOf(key), known};
}

const nlohmann::json& LocatedObject::Needed(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) throw BadInput("{}: expected '{}'", Where(), key);
  return *found;
}

LocatedJson::Path LocatedObject::PathOf(const std::string& key) const {
  auto path = path_;
  path.push_back(key);
  return path;
}

std::string LocatedObject::Where(const std::string& key) const {
  if (!key.empty() && Has(key)) return file_.Where(PathOf(key));
  if (object_.is_object() && !object_.empty())
    return file_.Where(PathOf(object_.items().begin().key()));
  return file_.Where(path_);
}

void LocatedObject::Refuse(const std::string& key, const std::string& expected) const {
  throw BadInput("{}: '{}': expected {}", Where(key), key, expected);
}

namespace {

using nlohmann::ordered_json;

// Plausible values of any machine: a number outside of the range is in another unit.
struct Range {
  double least, most;
  const char* unit;     // "FLOP/s"
  const char* example;  // "67 TFLOP/s is 6.7e13"
};
constexpr Range kFlops = {1e6, 1e18, "FLOP/s", "67 TFLOP/s is 6.7e13"};
constexpr Range kBytes = {1e6, 1e18, "byte/s", "4.8 TB/s is 4.8e12"};
constexpr Range kCapacity = {1024, 1e15, "byte", "50 MiB is 52428800"};
constexpr Range kLaunch = {1e-9, 1, "seconds", "4.2 us is 4.2e-6"};
constexpr Range kThreads = {1, 65536, "threads", "whole numbers"};

// SpecifiedMachine ignores "help", which older templates of such files have.
constexpr const char* kMembers[] = {"name",  "device",      "threads",        "source", "flops",
                                    "bytes", "cache_bytes", "launch_seconds", "help"};

// Returns the member's number. Refuses other types (as -1, which is in no range) and other numbers.
double NumberIn(const Range& range, const LocatedObject& at, const std::string& key) {
  const auto& value = at.Needed(key);
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number >= range.least && number <= range.most) return number;
  at.Refuse(key, fmt::format("a number of {} from {:g} to {:g} ({}), got {}", range.unit,
                             range.least, range.most, range.example,
                             value.is_number() ? value.dump() : value.type_name()));
}

// Returns the thread count that the file specifies, or 1 for a GPU (the host's thread).
int ThreadsOf(const std::string& device, const LocatedObject& file) {
  if (device == "gpu") {
    if (file.Has("threads"))
      file.Refuse("threads", "no threads for a gpu: its rates are those of all its SMs");
    return 1;
  }
  if (device != "cpu") file.Refuse("device", "gpu or cpu");
  const double threads = NumberIn(kThreads, file, "threads");
  if (threads != std::floor(threads)) file.Refuse("threads", "a whole number");
  return static_cast<int>(threads);
}

// Returns `ceiling` with the member's rate, and its source if it has one.
machine::Ceiling WithRate(machine::Ceiling ceiling, const Range& range, const LocatedObject& rates,
                          const std::string& key) {
  if (!rates.Needed(key).is_object()) {
    ceiling.per_second = NumberIn(range, rates, key);
    return ceiling;
  }
  const auto rate = rates.Object(key, {"per_second", "source"});
  ceiling.per_second = NumberIn(range, rate, "per_second");
  if (rate.Has("source")) ceiling.how = rate.Text("source");
  return ceiling;
}

void CheckPipe(const LocatedObject& rates, const std::string& key) {
  if (!IsPipeKey(key) || std::ranges::count(key, '.') != 1)
    rates.Refuse(key,
                 fmt::format("a pipe, TYPE.UNIT of the types {} and the units {}",
                             fmt::join(AllPipeTypes(), ", "), fmt::join(AllPipeUnits(), " and ")));
}

Level LevelOf(const LocatedObject& rates, const std::string& key) {
  if (const auto level = LevelFromKey(key)) return *level;
  rates.Refuse(key, "a memory level: l1, l2, l3, dram or host");
}

template <class Read>
void Each(const LocatedObject& file, const char* name, const Read& read) {
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

machine::Machine SpecifiedMachine(const LocatedJson& json) {
  const LocatedObject file(json, json.value(), {}, {std::begin(kMembers), std::end(kMembers)});
  machine::Machine machine{.device = file.Has("device") ? file.Text("device") : "gpu",
                           .name = file.Text("name")};
  const int threads = ThreadsOf(machine.device, file);
  const machine::Ceiling specified{.threads = threads,
                                   .how = file.Has("source") ? file.Text("source") : "",
                                   .status = machine::CeilingStatus::kSpecified};
  auto& set = machine.by_threads[threads];
  Each(file, "flops", [&](const LocatedObject& rates, const std::string& key) {
    CheckPipe(rates, key);
    set.flops[key] = WithRate(specified, kFlops, rates, key);
  });
  Each(file, "bytes", [&](const LocatedObject& rates, const std::string& key) {
    set.bytes[LevelOf(rates, key)] = WithRate(specified, kBytes, rates, key);
  });
  Each(file, "cache_bytes", [&](const LocatedObject& sizes, const std::string& key) {
    machine.cache_bytes[LevelOf(sizes, key)] = NumberIn(kCapacity, sizes, key);
  });
  if (set.flops.empty() && set.bytes.empty())
    throw BadInput("{}: expected at least one rate in \"flops\" or \"bytes\"", file.Where());
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
