#include "counters/perf/count.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "counters/base/order_statistics.h"

namespace dlroof::perf {
namespace {

constexpr int kPerfCalls = 3;
constexpr double kLeastShare = 0.5;  // of its time that a counter must have counted

// Returns the sum of an event's readings of one call. Absent where one of them hardly counted.
std::optional<double> Sum(const std::string& event, const std::vector<PerfReading>& readings,
                          std::set<std::string>& doubts) {
  double sum = 0;
  for (const PerfReading& reading : readings) {
    const auto enabled = static_cast<double>(reading.enabled);
    const auto running = static_cast<double>(reading.running);
    if (reading.enabled == 0) continue;  // a thread that did not run meanwhile
    if (running < kLeastShare * enabled) {
      doubts.insert(
          fmt::format("{} counted for {:.0f} % of the call only (other programs use the "
                      "counters), so it is left out",
                      event, 100 * running / enabled));
      return std::nullopt;
    }
    if (running < enabled)
      doubts.insert(fmt::format("{} counted for a part of the call and is scaled", event));
    sum += Difference(reading) * enabled / running;
  }
  return sum;
}

// Counts one group; the counts of its events by call.
class GroupCounter {
 public:
  GroupCounter(const CountRequest& request, const PerfBackend& backend, Counted& counted)
      : request_(request), backend_(backend), counted_(counted) {}

  void Count(const std::vector<PmuEvent>& group) {
    try {
      for (int call = 0; call < kPerfCalls; ++call) CountOnce(group);
      ++groups_;
    } catch (const PerfRefused& refused) {
      const bool too_many = refused.error == EINVAL || refused.error == ENOSPC;
      if (too_many && group.size() > 1) return CountHalves(group);
      counted_.doubts.push_back(fmt::format("{}: {}", Names(group), refused.what()));
    }
  }

  int groups() const { return groups_; }

  std::map<std::string, double> Medians() const {
    std::map<std::string, double> medians;
    for (const auto& [event, counts] : counts_)
      if (counts.size() == static_cast<size_t>(kPerfCalls)) medians[event] = Median(counts);
    return medians;
  }

  const std::set<std::string>& doubts() const { return doubts_; }

 private:
  void CountOnce(const std::vector<PmuEvent>& group) {
    if (request_.ready) request_.ready();
    const auto readings = backend_(group, request_.run);
    ++counted_.passes;
    for (size_t i = 0; i < std::min(group.size(), readings.size()); ++i)
      if (const auto sum = Sum(group[i].name, readings[i], doubts_))
        counts_[group[i].name].push_back(*sum);
  }

  void CountHalves(const std::vector<PmuEvent>& group) {
    const auto middle = group.begin() + static_cast<std::ptrdiff_t>(group.size() / 2);
    Count({group.begin(), middle});
    Count({middle, group.end()});
  }

  static std::string Names(const std::vector<PmuEvent>& group) {
    std::string names;
    for (const PmuEvent& event : group) names += (names.empty() ? "" : ", ") + event.name;
    return names;
  }

  const CountRequest& request_;
  const PerfBackend& backend_;
  Counted& counted_;
  std::map<std::string, std::vector<double>> counts_;
  std::set<std::string> doubts_;
  int groups_ = 0;
};

// [1] by event, over one call.
std::map<std::string, double> CountEvents(const std::vector<PmuEvent>& events, int slots,
                                          const CountRequest& request, const PerfBackend& backend,
                                          Counted& counted) {
  GroupCounter counter(request, backend, counted);
  std::map<std::string, std::vector<PmuEvent>> by_pmu;
  for (const PmuEvent& event : events) by_pmu[event.pmu].push_back(event);
  for (const auto& [pmu, all] : by_pmu)
    for (size_t begin = 0; begin < all.size(); begin += static_cast<size_t>(slots)) {
      const size_t end = std::min(all.size(), begin + static_cast<size_t>(slots));
      counter.Count({all.begin() + static_cast<std::ptrdiff_t>(begin),
                     all.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  counted.doubts.insert(counted.doubts.end(), counter.doubts().begin(), counter.doubts().end());
  counted.how = fmt::format("perf events, {} groups, the median of {} calls each", counter.groups(),
                            kPerfCalls);
  return counter.Medians();
}

// Quantities whose events were not all counted are unknown.
std::optional<double> ValueOf(const PmuQuantity& quantity,
                              const std::map<std::string, double>& counts) {
  double value = 0;
  for (const auto& [event, factor] : quantity.terms) {
    const auto found = counts.find(event);
    if (found == counts.end()) return std::nullopt;
    value += found->second * factor;
  }
  return value;
}

bool Wanted(const PmuQuantity& quantity, const CountRequest& request) {
  if (quantity.level) return true;
  return std::ranges::count(request.pipes, quantity.pipe) > 0 &&
         !(quantity.alone && request.pipes.size() > 1);
}

}  // namespace

double Difference(const PerfReading& reading) {
  constexpr std::uint64_t kWidth = std::uint64_t{1} << 48;
  if (reading.end >= reading.begin) return static_cast<double>(reading.end - reading.begin);
  if (reading.begin < kWidth) return static_cast<double>(reading.end + kWidth - reading.begin);
  return static_cast<double>(reading.end - reading.begin);  // modulo 2^64
}

Counted CountWithPerf(const PmuTable& table, const CountRequest& request,
                      const PerfBackend& backend) {
  Counted counted;
  std::set<std::string> names;
  for (const PmuQuantity& quantity : table.quantities)
    if (Wanted(quantity, request))
      for (const auto& [event, factor] : quantity.terms) names.insert(event);
  std::vector<PmuEvent> events;
  events.reserve(names.size());
  for (const auto& name : names) events.push_back(table.events.at(name));
  const auto counts = CountEvents(events, table.slots, request, backend, counted);
  counted.how = fmt::format("{} ({})", counted.how, table.name);
  for (const PmuQuantity& quantity : table.quantities) {
    if (!Wanted(quantity, request)) continue;
    const auto value = ValueOf(quantity, counts);
    if (!value) continue;
    if (quantity.level)
      counted.work.bytes[*quantity.level] = *value;
    else
      counted.work.flops[quantity.pipe] = *value;
  }
  if (counted.work.bytes.count(Level::kDram) > 0)
    counted.doubts.emplace_back("dram counts what the whole socket moved meanwhile");
  return counted;
}

}  // namespace dlroof::perf
