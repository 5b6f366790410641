#include "reporters/record/benchmark_name.h"

#include <algorithm>
#include <charconv>

namespace dlroof::record {
namespace {

// Removes "/key" or, with a number as its value, "/key:N" from the end of the name. Returns the
// text of the number, which is empty for a setting without one.
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
    double value = 0;
    const auto* const end = setting.data() + setting.size();
    const auto [stop, error] = std::from_chars(setting.data(), end, value);
    if (error != std::errc() || stop != end || !(value >= 0)) return std::nullopt;
  }
  name = name.substr(0, slash);
  return setting;
}

std::optional<int> TakeCount(std::string_view key, std::string_view& name) {
  auto shorter = name;
  const auto text = TakeSetting(key, true, shorter);
  if (!text) return std::nullopt;
  int count = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (error != std::errc() || stop != text->data() + text->size() || count < 1) return std::nullopt;
  name = shorter;
  return count;
}

}  // namespace

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

std::optional<std::pair<std::string_view, std::string_view>> SplitStatistic(std::string_view name) {
  const auto cut = name.rfind('_');
  if (cut == std::string_view::npos || cut == 0 || cut + 1 == name.size()) return std::nullopt;
  return std::pair(name.substr(0, cut), name.substr(cut + 1));
}

}  // namespace dlroof::record
