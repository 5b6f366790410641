#include "baselines/cluster/meter_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>

#include "counters/base/error.h"
#include "reporters/text/csv.h"
#include "reporters/text/text.h"

namespace dlroof {
namespace {

// [s] since 1970: the years 2000 to 2099. Milliseconds are not taken for seconds.
constexpr double kEarliest = 946684800, kLatest = 4102444800;
// [byte] A log of some days has 10^7 rows, which are read part by part: a field takes much memory.
constexpr std::size_t kPartBytes = 1U << 20;

constexpr std::array<std::string_view, 3> kMeterColumns = {"node", "time", "watts"};

// The number in `count` digits of a text that has digits there.
int DigitsAt(std::string_view text, std::size_t at, std::size_t count) {
  int number = 0;
  std::from_chars(text.data() + at, text.data() + at + count, number);
  return number;
}

// [s] of "2026-11-23T10:00:01.5Z"; absent for another form.
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

double TimeOfSample(const CsvField& field, const std::string& where) {
  auto seconds = IsoSeconds(field.text);
  if (!seconds) seconds = SecondsSince1970(field.text);
  if (seconds && *seconds >= kEarliest && *seconds < kLatest) return *seconds;
  throw BadInput(
      "{}: '{}': expected a time in UTC such as 2026-11-23T10:00:01.5Z, or seconds since 1970",
      PlaceOf(field, where), Printable(field.text.substr(0, 40)));
}

double WattsOfSample(const CsvField& field, const std::string& where) {
  const auto watts = CsvNumberFromZero(field, where);
  if (!watts) throw BadInput("{}: expected watts", PlaceOf(field, where));
  return *watts;
}

// Adds the rows of one file, the last of the log's.
class LogReader {
 public:
  LogReader(std::string where, MeterLog& log) : where_(std::move(where)), log_(log) {}

  void Read(std::string_view text) {
    int line = 1;
    while (!text.empty()) {
      const auto end = text.find('\n', std::min(kPartBytes, text.size()));
      const auto part = text.substr(0, end == std::string_view::npos ? end : end + 1);
      for (const auto& row : ReadCsv(part, where_, line)) Add(row);
      line += static_cast<int>(std::ranges::count(part, '\n'));
      text.remove_prefix(part.size());
    }
    if (!any_)
      throw BadInput(BadInput::Place{where_, 1},
                     "expected the header node,time,watts and a row for each sample");
  }

 private:
  void Add(const CsvRow& row) {
    if (header_.empty()) {
      columns_ = CsvColumns(row, kMeterColumns, kMeterColumns.size(), where_);
      header_ = row;
      return;
    }
    RequireFields(row, header_, where_);
    const auto& node = row[*columns_[0]];
    if (node.text.empty()) throw BadInput("{}: expected a node's name", PlaceOf(node, where_));
    log_.samples[node.text].push_back({TimeOfSample(row[*columns_[1]], where_),
                                       WattsOfSample(row[*columns_[2]], where_),
                                       static_cast<int>(log_.files.size()) - 1, node.line});
    any_ = true;
  }

  std::string where_;
  MeterLog& log_;
  CsvRow header_;                                    // empty: not read yet
  std::vector<std::optional<std::size_t>> columns_;  // of kMeterColumns
  bool any_ = false;
};

// Sorts by time. Throws BadInput for two samples of one time.
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
                 Printable(node), files[static_cast<std::size_t>(twice->file)], twice->line);
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

}  // namespace dlroof
