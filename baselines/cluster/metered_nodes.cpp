#include "baselines/cluster/metered_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "baselines/cluster/gather.h"
#include "baselines/statistics/shift.h"
#include "counters/base/error.h"
#include "counters/base/keys.h"
#include "counters/base/numbers.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof::cluster {
namespace {

// [s] since 1970. Accepts the years 2000 to 2099, so that times in milliseconds are rejected.
constexpr double kEarliest = 946684800, kLatest = 4102444800;
// [byte] A log (10^7 rows in some days) is parsed in chunks of this size, to limit memory.
constexpr std::size_t kPartBytes = 1U << 20;

constexpr std::array<std::string_view, 3> kMeterColumns = {"node", "time", "watts"};

// Returns the number in the `count` characters at `at`, which must be digits.
int DigitsAt(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + count, number);
  return number;
}

// Returns the time of "2026-11-23T10:00:01.5Z" [s], or nothing for another form.
std::optional<double> IsoSeconds(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00", kDigits = "0123456789";
  if (text.size() <= kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] == '0' ? kDigits.find(text[i]) == std::string_view::npos : text[i] != kForm[i])
      return std::nullopt;
  const std::chrono::year_month_day day{
      std::chrono::year(DigitsAt(text, 0, 4)),
      std::chrono::month(static_cast<unsigned>(DigitsAt(text, 5, 2))),
      std::chrono::day(static_cast<unsigned>(DigitsAt(text, 8, 2)))};
  const int hour = DigitsAt(text, 11, 2), minute = DigitsAt(text, 14, 2),
            second = DigitsAt(text, 17, 2);
  if (!day.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  auto rest = text.substr(kForm.size());
  double fraction = 0;
  if (rest.front() == '.') {
    const auto end = std::min(rest.find_first_not_of(kDigits, 1), rest.size());
    if (std::from_chars(rest.data(), rest.data() + end, fraction).ec != std::errc())
      return std::nullopt;
    rest.remove_prefix(end);
  }
  if (rest != "Z" && rest != "+00:00") return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(day).time_since_epoch().count());
  return 86400 * days + 3600 * hour + 60 * minute + second + fraction;
}

std::optional<double> SecondsSince1970(std::string_view text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seconds;
}

double TimeOfSample(const text::CsvField& field, const std::string& where) {
  auto seconds = IsoSeconds(field.text);
  if (!seconds) seconds = SecondsSince1970(field.text);
  if (seconds && *seconds >= kEarliest && *seconds < kLatest) return *seconds;
  throw BadInput(
      "{}: '{}': expected a time in UTC such as 2026-11-23T10:00:01.5Z, or seconds since 1970",
      text::PlaceOf(field, where), text::Printable(field.text.substr(0, 40)));
}

double WattsOfSample(const text::CsvField& field, const std::string& where) {
  const auto watts = text::CsvNumberFromZero(field, where);
  if (!watts) throw BadInput("{}: expected watts", text::PlaceOf(field, where));
  return *watts;
}

// Adds the rows of one file to the log: of the last in MeterLog::files.
class LogReader {
 public:
  LogReader(std::string where, MeterLog& log) : where_(std::move(where)), log_(log) {}

  void Read(std::string_view text) {
    int line = 1;
    while (!text.empty()) {
      const auto end = text.find('\n', std::min(kPartBytes, text.size()));
      const auto part = text.substr(0, end == std::string_view::npos ? end : end + 1);
      for (const auto& row : text::ReadCsv(part, where_, line)) Add(row);
      line += static_cast<int>(std::ranges::count(part, '\n'));
      text.remove_prefix(part.size());
    }
    if (!any_)
      throw BadInput(BadInput::Place{where_, 1},
                     "expected the header node,time,watts and a row for each sample");
  }

 private:
  void Add(const text::CsvRow& row) {
    if (header_.empty()) {
      columns_ = text::CsvColumns(row, kMeterColumns, kMeterColumns.size(), where_);
      header_ = row;
      return;
    }
    text::RequireFields(row, header_, where_);
    const auto& node = row[*columns_[0]];
    if (node.text.empty())
      throw BadInput("{}: expected a node's name", text::PlaceOf(node, where_));
    log_.samples[node.text].push_back({TimeOfSample(row[*columns_[1]], where_),
                                       WattsOfSample(row[*columns_[2]], where_),
                                       static_cast<int>(log_.files.size()) - 1, node.line});
    any_ = true;
  }

  std::string where_;
  MeterLog& log_;
  text::CsvRow header_;                              // set by the first row
  std::vector<std::optional<std::size_t>> columns_;  // position of each of kMeterColumns in a row
  bool any_ = false;
};

// Sorts by time. Throws BadInput for two samples with the same time.
void SortSamples(const std::string& node, const std::vector<std::string>& files,
                 std::vector<MeterSample>& samples) {
  std::ranges::sort(samples, {}, [](const MeterSample& one) {
    return std::tuple(one.seconds, one.file, one.line);
  });
  const auto twice = std::ranges::adjacent_find(samples, {}, &MeterSample::seconds);
  if (twice == samples.end()) return;
  const auto& later = *(twice + 1);
  throw BadInput(BadInput::Place{files[static_cast<std::size_t>(later.file)], later.line},
                 "node {} has a sample of this time already ({}:{}), expected one for each time",
                 text::Printable(node), files[static_cast<std::size_t>(twice->file)], twice->line);
}

constexpr std::ptrdiff_t kFewestSamples = 5;
constexpr double kMostPeriods = 3;  // [1] largest time between neighbouring samples, in periods
// [1] Parts of a window for the interval. They are few and long, since a meter's averaging periods
// may overlap, which makes neighbouring samples dependent.
constexpr std::size_t kBatches = 5;

using Samples = std::vector<MeterSample>::const_iterator;

// Returns the median time between samples [s], from the last before the window to the first after.
std::optional<double> PeriodAround(const std::vector<MeterSample>& samples, Samples begin,
                                   Samples end) {
  if (begin != samples.begin()) --begin;
  if (end != samples.end()) ++end;
  std::vector<double> distances;
  for (; begin != end && begin + 1 != end; ++begin)
    distances.push_back((begin + 1)->seconds - begin->seconds);
  return distances.empty() ? std::nullopt : std::optional(Median(std::move(distances)));
}

bool HasGap(Samples begin, Samples end, double from, double to, double period) {
  double before = from;
  for (; begin != end; ++begin) {
    if (begin->seconds - before > kMostPeriods * period) return true;
    before = begin->seconds;
  }
  return to - before > kMostPeriods * period;
}

// Returns the mean power [W], interpolated linearly between the samples.
double MeanWatts(Samples begin, Samples end) {
  const double seconds = (end - 1)->seconds - begin->seconds;
  double joules = 0;
  for (; begin + 1 != end; ++begin)
    joules += (begin->watts + (begin + 1)->watts) / 2 * ((begin + 1)->seconds - begin->seconds);
  return joules / seconds;
}

std::optional<std::pair<double, double>> BatchInterval(Samples begin, Samples end, double mean) {
  const auto count = static_cast<std::size_t>(end - begin);
  const bool equal =
      std::all_of(begin, end, [&](const auto& one) { return one.watts == begin->watts; });
  if (count < 2 * kBatches || equal) return std::nullopt;  // the meter may be too coarse
  std::array<double, kBatches> means{};
  for (std::size_t i = 0; i < kBatches; ++i) {
    const auto first = count * i / kBatches, last = count * (i + 1) / kBatches;
    for (auto j = first; j < last; ++j)
      means[i] +=
          (begin + static_cast<std::ptrdiff_t>(j))->watts / static_cast<double>(last - first);
  }
  double sum = 0, squares = 0;
  for (const double one : means) sum += one / kBatches;
  for (const double one : means) squares += (one - sum) * (one - sum);
  const double half =
      statistics::StudentQuantile95(kBatches - 1) * std::sqrt(squares / (kBatches - 1) / kBatches);
  if (half >= mean) return std::nullopt;
  return std::pair(mean - half, mean + half);
}

// The energy of a call on one node, by its meter.
struct NodeJoules {
  double joules = 0;                              // [J] of one call
  std::optional<std::pair<double, double>> ci95;  // [J]
  energy::MeteredWindow window;
  WindowPower power;
};

NodeJoules JoulesOf(const WindowPower& power, const energy::MeteredWindow& window) {
  const double seconds = (window.end_seconds - window.begin_seconds) / window.calls;
  NodeJoules of{power.watts * seconds, {}, window, power};
  if (power.ci95) of.ci95 = {power.ci95->first * seconds, power.ci95->second * seconds};
  return of;
}

energy::MeteredEnergy MedianOfNodes(const std::vector<NodeJoules>& nodes, const std::string& from) {
  const auto values = [&](const std::function<double(const NodeJoules&)>& value) {
    std::vector<double> all;
    std::ranges::transform(nodes, std::back_inserter(all), value);
    return all;
  };
  const auto window_of = [](const NodeJoules& one) {
    return one.window.end_seconds - one.window.begin_seconds;
  };
  energy::MeteredEnergy energy{.from = from,
                               .covers = "all power of the node at its meter, idle parts too"};
  const auto joules = values(&NodeJoules::joules);
  energy.joules = Median(joules);
  energy.ci95 = nodes.size() == 1 ? nodes.front().ci95 : MedianInterval95(joules);
  energy.seconds =
      Median(values([&](const NodeJoules& one) { return window_of(one) / one.window.calls; }));
  energy.window_seconds = std::ranges::min(values(window_of));
  energy.period_seconds =
      std::ranges::max(values([](const NodeJoules& one) { return one.power.period_seconds; }));
  energy.samples = std::ranges::min(
      values([](const NodeJoules& one) { return static_cast<double>(one.power.samples); }));
  energy.nodes = static_cast<double>(nodes.size());
  return energy;
}

constexpr KeyRow<NotMetered> kReasons[] = {
    {NotMetered::kNoNode, "the log has no sample of the node"},
    {NotMetered::kOutside,
     "no sample is of the window's time (the clocks of node and meter must agree)"},
    {NotMetered::kFewSamples, "fewer than 5 samples are in the window, less a period at each end"},
    {NotMetered::kGap, "samples are missing in the window, for more than 3 periods"},
    {NotMetered::kNoPower, "the meter read 0 W"}};

// Reason -> names of the nodes whose calls have no metered energy for this reason.
using Lost = std::map<NotMetered, std::vector<std::string>>;

void SetMetered(const MeterLog& log, const std::vector<NodeWindow>& windows,
                const std::vector<ClusterNode>& nodes, record::Record& record, Lost& lost) {
  std::vector<NodeJoules> found;
  std::set<std::string> reasons;
  for (const auto& [node, window] : windows) {
    const auto& name = nodes[node].name;
    const auto samples = log.samples.find(name);
    const auto power = samples == log.samples.end() ? PowerResult(NotMetered::kNoNode)
                                                    : PowerInWindow(samples->second, window);
    if (const auto* known = std::get_if<WindowPower>(&power)) {
      found.push_back(JoulesOf(*known, window));
      continue;
    }
    const auto reason = std::get<NotMetered>(power);
    lost[reason].push_back(name);
    reasons.emplace(KeyIn(kReasons, reason));
  }
  if (!found.empty())
    record.metered = MedianOfNodes(found, log.From());
  else if (!reasons.empty())
    record.counting.push_back(
        {"energy", {}, fmt::format("not metered: {}", fmt::join(reasons, "; "))});
}

std::vector<std::string> NodesMissingIn(const Cluster& cluster, const MeterLog& log) {
  std::set<std::string> known;
  for (const auto& node : cluster.nodes) known.insert(node.name);
  std::vector<std::string> missing;
  for (const auto& [name, samples] : log.samples)
    if (!known.contains(name)) missing.push_back(name);
  std::ranges::sort(missing, NodeNameLess);
  return missing;
}

}  // namespace

std::string MeterLog::From() const {
  std::string names;
  for (const auto& file : files)
    names += (names.empty() ? "" : ", ") + std::filesystem::path(file).filename().string();
  return names;
}

MeterLog ParseMeterLogs(const std::vector<std::pair<std::string, std::string>>& files) {
  MeterLog log;
  for (const auto& [name, text] : files) {
    log.files.push_back(name);
    LogReader(name, log).Read(text);
  }
  for (auto& [node, samples] : log.samples) SortSamples(node, log.files, samples);
  return log;
}

PowerResult PowerInWindow(const std::vector<MeterSample>& samples,
                          const energy::MeteredWindow& window) {
  if (samples.empty()) return NotMetered::kNoNode;
  const auto from_time = [&](double seconds) {
    return std::ranges::lower_bound(samples, seconds, {}, &MeterSample::seconds);
  };
  const auto first = from_time(window.begin_seconds), last = from_time(window.end_seconds);
  if (first == last) return NotMetered::kOutside;
  const auto period = PeriodAround(samples, first, last);
  if (!period) return NotMetered::kFewSamples;
  const double from = window.begin_seconds + *period, to = window.end_seconds - *period;
  if (from >= to) return NotMetered::kFewSamples;
  const auto begin = from_time(from);
  const auto end = from_time(std::nextafter(to, std::numeric_limits<double>::max()));
  if (end - begin < kFewestSamples) return NotMetered::kFewSamples;
  if (HasGap(begin, end, from, to, *period)) return NotMetered::kGap;
  WindowPower power{MeanWatts(begin, end), {}, *period, static_cast<std::size_t>(end - begin)};
  if (!(power.watts > 0)) return NotMetered::kNoPower;
  power.ci95 = BatchInterval(begin, end, power.watts);
  return power;
}

void AddMeteredEnergy(const MeterLog& log, const std::vector<std::vector<NodeWindow>>& windows,
                      Cluster& cluster) {
  const auto from = log.From();
  Lost lost;
  for (std::size_t i = 0; i < windows.size(); ++i)
    SetMetered(log, windows[i], cluster.nodes, cluster.run.records[i], lost);
  if (std::ranges::all_of(windows, &std::vector<NodeWindow>::empty))
    cluster.remarks.push_back(fmt::format(
        "{}: no benchmark has a window for a meter: measure with --dlroof_meter_seconds", from));
  for (auto& [reason, names] : lost) {
    const auto calls = names.size();
    std::ranges::sort(names, NodeNameLess);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    cluster.remarks.push_back(fmt::format("{}: calls without metered energy: {}, on {}: {}", from,
                                          calls, NamedNodes(names), KeyIn(kReasons, reason)));
  }
  if (const auto missing = NodesMissingIn(cluster, log); !missing.empty())
    cluster.remarks.push_back(fmt::format("{}: nodes that are not in the cluster: {} ({})", from,
                                          missing.size(), NamedNodes(missing)));
}

}  // namespace dlroof::cluster
