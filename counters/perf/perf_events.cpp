#include "counters/perf/perf_events.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <ranges>
#include <set>

#include "counters/base/json_reader.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"

namespace dlroof::perf {

std::string PerfSentence(const PerfAnswer& answer) {
  if (answer.error == 0) return "hardware counters can be read (perf events)";
  const auto what = fmt::format("errno {} ({})", answer.error, strerrordesc_np(answer.error));
  if (!answer.has_pmu)
    return fmt::format(
        "no hardware counters: {}; the kernel has no PMU, as in most virtual machines. Use bare "
        "metal, or a virtual machine whose host passes the PMU through",
        what);
  if (answer.error == EACCES || answer.error == EPERM)
    return fmt::format(
        "hardware counters are blocked: {}; kernel.perf_event_paranoid is {}. Set it to 2 or less "
        "for your own processes (0 or less for memory traffic): sysctl "
        "kernel.perf_event_paranoid=0, or grant CAP_PERFMON; in a container also allow "
        "perf_event_open",
        what, answer.paranoid ? std::to_string(*answer.paranoid) : "not readable");
  if (answer.error == ENOSYS)
    return fmt::format("no hardware counters: {}; the kernel was built without perf events", what);
  if (answer.error == EBUSY)
    return fmt::format(
        "hardware counters are in use: {}; another profiler or the NMI watchdog has them (sysctl "
        "kernel.nmi_watchdog=0 frees one)",
        what);
  return fmt::format("no hardware counters: {}", what);
}

std::string PerfOpenSentence(int error) {
  static const std::map<int, const char*> kSentences = {
      {EACCES,
       "blocked: {}; system-wide counting, which memory traffic needs, requires "
       "kernel.perf_event_paranoid of 0 or less, or CAP_PERFMON"},
      {ENOENT, "the kernel does not have this event here: {}"},
      {EINVAL, "the events do not fit into the PMU's counters: {}"},
      {EMFILE,
       "too many open files (one per thread and event): {}; raise the limit with ulimit -n"},
      {EBUSY,
       "the counters are in use: {}; another profiler or the NMI watchdog has them (sysctl "
       "kernel.nmi_watchdog=0 frees one)"},
      {ESRCH, "a thread ended before its counter was opened: {}"}};
  const auto found = kSentences.find(error == EPERM ? EACCES : error == ENOSPC ? EINVAL : error);
  return fmt::format(fmt::runtime(found == kSentences.end() ? "{}" : found->second),
                     fmt::format("errno {} ({})", error, strerrordesc_np(error)));
}

namespace {

constexpr int kPerfCalls = 3;
constexpr double kMinShare = 0.5;  // [1] minimum part of the call with the event on a counter

// Returns the sum of an event's counts in one call over threads or units. Returns nullopt if one of
// them was on a counter for less than kMinShare of the call.
std::optional<double> Sum(const std::string& event, const std::vector<PerfReading>& readings,
                          std::set<std::string>& caveats) {
  double sum = 0;
  for (const PerfReading& reading : readings) {
    const auto enabled = static_cast<double>(reading.enabled);
    const auto running = static_cast<double>(reading.running);
    if (reading.enabled == 0) continue;  // the thread did not run
    if (running < kMinShare * enabled) {
      caveats.insert(
          fmt::format("{} was left out: it was counted for only {:.0f} % of the call, as other "
                      "programs use the counters",
                      event, 100 * running / enabled));
      return std::nullopt;
    }
    if (running < enabled)
      caveats.insert(fmt::format("{} was scaled: it was counted for only part of the call", event));
    sum += Difference(reading) * enabled / running;
  }
  return sum;
}

// Counts groups of events in kPerfCalls calls each.
struct GroupCounter {
  const CountRequest& request;
  const PerfBackend& backend;
  Counted& counted;
  std::map<std::string, std::vector<double>> counts = {};  // by event, one per call
  std::set<std::string> caveats = {};
  int groups = 0;

  void Count(const std::vector<PmuEvent>& group) {
    try {
      for (int call = 0; call < kPerfCalls; ++call) CountOnce(group);
      ++groups;
    } catch (const PerfRefused& refused) {
      const bool too_many = refused.error == EINVAL || refused.error == ENOSPC;
      if (too_many && group.size() > 1) return CountHalves(group);
      counted.caveats.push_back(
          fmt::format("{}: {}", fmt::join(group | std::views::transform(&PmuEvent::name), ", "),
                      refused.what()));
    }
  }

  void CountOnce(const std::vector<PmuEvent>& group) {
    if (request.ready) request.ready();
    const auto readings = backend(group, request.run);
    for (size_t i = 0; i < std::min(group.size(), readings.size()); ++i)
      if (const auto sum = Sum(group[i].name, readings[i], caveats))
        counts[group[i].name].push_back(*sum);
  }

  void CountHalves(const std::vector<PmuEvent>& group) {
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    Count({group.begin(), middle});
    Count({middle, group.end()});
  }
};

// Returns the median of each event's counts. Leaves out events that were not counted in each call.
std::map<std::string, double> CountEvents(const std::vector<PmuEvent>& events, int slots,
                                          const CountRequest& request, const PerfBackend& backend,
                                          Counted& counted) {
  GroupCounter counter{request, backend, counted};
  std::map<std::string, std::vector<PmuEvent>> by_pmu;
  for (const PmuEvent& event : events) by_pmu[event.pmu].push_back(event);
  for (const auto& [pmu, all] : by_pmu)
    for (size_t begin = 0; begin < all.size(); begin += static_cast<size_t>(slots)) {
      const size_t end = std::min(all.size(), begin + static_cast<size_t>(slots));
      counter.Count({all.begin() + static_cast<std::ptrdiff_t>(begin),
                     all.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  counted.caveats.insert(counted.caveats.end(), counter.caveats.begin(), counter.caveats.end());
  counted.how = fmt::format("perf events, {} groups, the median of {} calls each", counter.groups,
                            kPerfCalls);
  std::map<std::string, double> medians;
  for (const auto& [event, counts] : counter.counts)
    if (std::ssize(counts) == kPerfCalls) medians[event] = Median(counts);
  return medians;
}

// Returns the quantity's value, or nullopt if one of its events was not counted.
std::optional<double> ValueOf(const PmuQuantity& quantity,
                              const std::map<std::string, double>& counts) {
  double value = 0;
  for (const auto& [event, factor] : quantity.terms) {
    const auto* const count = FindValue(counts, event);
    if (count == nullptr) return std::nullopt;
    value += *count * factor;
  }
  return value;
}

bool Applies(const PmuQuantity& quantity, const CountRequest& request) {
  if (quantity.level) return true;
  if (request.pipes.empty()) return !quantity.any_type;
  return std::ranges::count(request.pipes, quantity.pipe) > 0 &&
         !(quantity.any_type && request.pipes.size() > 1);
}

}  // namespace

double Difference(const PerfReading& reading) {
  constexpr std::uint64_t kWidth = std::uint64_t{1} << 48;
  if (reading.end >= reading.begin) return static_cast<double>(reading.end - reading.begin);
  if (reading.begin < kWidth) return static_cast<double>(reading.end + kWidth - reading.begin);
  return static_cast<double>(reading.end - reading.begin);  // modulo 2^64
}

std::optional<double> CountInstructions(const std::function<void()>& call,
                                        const PerfBackend& backend) {
  // Event 0xC0 without a unit mask is INST_RETIRED.ANY_P on Intel (SDM volume 3, "Architectural
  // Performance Events") and PMCx0C0 on AMD (Processor Programming References).
  static const PmuEvent retired = {"instructions retired", kThisThread, 0xC0};
  try {
    const auto reading = backend({retired}, call).at(0).at(0);
    const double count = Difference(reading);
    if (reading.running >= reading.enabled && count > 0) return count;
  } catch (const PerfRefused&) {
  }
  return std::nullopt;
}

Counted CountWithPerf(const PmuTable& table, const CountRequest& request,
                      const PerfBackend& backend) {
  Counted counted;
  std::set<std::string> names;
  for (const PmuQuantity& quantity : table.quantities)
    if (Applies(quantity, request))
      for (const auto& [event, factor] : quantity.terms) names.insert(event);
  const auto events =
      VectorOf<PmuEvent>(names, [&](const auto& name) { return table.events.at(name); });
  const auto counts = CountEvents(events, table.slots, request, backend, counted);
  counted.how = fmt::format("{} ({})", counted.how, table.name);
  for (const PmuQuantity& quantity : table.quantities) {
    if (!Applies(quantity, request)) continue;
    const auto value = ValueOf(quantity, counts);
    if (!value) continue;
    if (quantity.level)
      counted.work.bytes[*quantity.level] = *value;
    else
      counted.work.flops[quantity.pipe] = *value;
  }
  if (counted.work.bytes.count(Level::kDram) > 0)
    counted.caveats.emplace_back("dram includes the traffic of other programs on the socket");
  return counted;
}

namespace {

using nlohmann::json;

std::uint64_t HexIn(const JsonReader& at, const std::string& key) {
  return std::stoull(at.Text(key), nullptr, 16);
}

PmuEvent EventFrom(const std::string& name, const JsonReader& at) {
  const auto event = HexIn(at, "event");
  // AMD's event number has 12 bits, in config:0-7,32-35; Intel's has 8 bits.
  return {name, at.TextOr("pmu", "cpu"),
          (event & 0xff) | HexIn(at, "umask") << 8 | (event >> 8) << 32};
}

PmuQuantity QuantityFrom(const JsonReader& at, const PmuTable& table) {
  PmuQuantity quantity{.pipe = at.TextOr("flops", ""), .any_type = at.OptionalFlag("alone")};
  if (!at.Has("flops")) quantity.level = LevelFromKey(at.Text("bytes"));
  if (!quantity.level && !IsPipeKey(quantity.pipe))
    throw BadInput("{}: expected 'flops' of a pipe or 'bytes' of a level", at.where());
  const auto terms = at.Object("terms");
  for (const auto& event : terms.Keys()) {
    if (!table.events.contains(event)) terms.Refuse(event, "an event of this table");
    quantity.terms[event] = terms.Number(event);
  }
  return quantity;
}

bool IsFor(const json& table, const cpu::Cpu& cpu) {
  if (table.at("vendor") != cpu.vendor) return false;
  const auto families = table.at("families").get<std::vector<unsigned>>();
  if (std::ranges::count(families, cpu.family) == 0) return false;
  if (table.contains("models")) {
    const auto models = table.at("models").get<std::vector<unsigned>>();
    return std::ranges::count(models, cpu.model) > 0;
  }
  const auto from = table.value("models_from", json::object());
  return cpu.model >= from.value(std::to_string(cpu.family), 0U);
}

PmuTable TableFrom(const JsonReader& at) {
  PmuTable table{.name = at.Text("name"), .source = at.NonEmptyText("source")};
  table.slots = at.AtLeastOne("slots");
  at.EachObject("events", [&](const std::string& name, const JsonReader& event) {
    table.events[name] = EventFrom(name, event);
  });
  table.quantities = at.ItemsOf(
      "quantities", [&](const JsonReader& quantity) { return QuantityFrom(quantity, table); });
  return table;
}

}  // namespace

bool IsDeviceOf(std::string_view pmu, std::string_view device) {
  if (!device.starts_with(pmu)) return false;
  const auto rest = device.substr(pmu.size());
  return rest.empty() || (rest.size() > 1 && rest.front() == '_' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

PmuTable PmuTableFromText(std::string_view text, const std::string& where) {
  return TableFrom({ParsedJson(std::string(text), where), where});
}

std::optional<PmuTable> PmuTableFor(const cpu::Cpu& cpu) {
  for (const auto& file : BuiltInPmuTables())
    if (IsFor(json::parse(file.text), cpu))
      return PmuTableFromText(file.text, std::string(file.name));
  return std::nullopt;
}

}  // namespace dlroof::perf
