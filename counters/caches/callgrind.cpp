#include "counters/caches/callgrind.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace dlroof::caches {
namespace {

// Words of the rest of the last line that begins with `key`; absent: there is none.
std::optional<std::vector<std::string>> WordsAfter(std::string_view text, std::string_view key) {
  std::optional<std::vector<std::string>> found;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream rest(line.substr(key.size()));
    found.emplace(std::istream_iterator<std::string>(rest), std::istream_iterator<std::string>());
  }
  return found;
}

double Count(const std::map<std::string, double>& counts, const std::string& event) {
  const auto found = counts.find(event);
  if (found == counts.end())
    throw std::runtime_error(fmt::format("callgrind counted no {}", event));
  return found->second;
}

// By event. Throws std::runtime_error with the missing part.
std::map<std::string, double> CountsIn(std::string_view text) {
  const auto names = WordsAfter(text, "events:");
  auto numbers = WordsAfter(text, "totals:");
  if (!numbers) numbers = WordsAfter(text, "summary:");
  if (!names || !numbers)
    throw std::runtime_error("not a file of callgrind's: no events, no totals");
  std::map<std::string, double> counts;
  for (size_t i = 0; i < names->size(); ++i) {
    double& value = counts[names->at(i)];
    if (i >= numbers->size()) continue;  // zeros at a line's end are left out (its file format)
    const auto& number = numbers->at(i);
    const auto* const end = number.data() + number.size();
    if (std::from_chars(number.data(), end, value).ptr != end || value < 0)
      throw std::runtime_error(fmt::format("callgrind's {} is not a count", names->at(i)));
  }
  return counts;
}

}  // namespace

CacheGeometry Simulable(const CacheGeometry& cache, int otherwise) {
  const int ways = cache.ways > 0 ? cache.ways : otherwise;
  const double lines = cache.bytes / cache.line;
  CacheGeometry best;
  double best_error = std::numeric_limits<double>::infinity();
  // Ways from three quarters to twice as many: the nearest capacity, then the nearest ways.
  for (int many = std::max(1, ways * 3 / 4); many <= 2 * ways; ++many) {
    const double sets = std::exp2(std::round(std::log2(lines / many)));
    const double bytes = sets * many * cache.line;
    const double error = std::abs(bytes / cache.bytes - 1) + 1e-4 * std::abs(many - ways);
    if (error >= best_error) continue;
    best_error = error;
    best = {bytes, many, cache.line};
  }
  return best;
}

std::string Text(const CacheGeometry& cache) {
  const bool small = cache.bytes < 1048576;
  return fmt::format("{:.4g} {} {}-way", cache.bytes / (small ? 1024 : 1048576),
                     small ? "KiB" : "MiB", cache.ways);
}

std::vector<std::string> CallgrindCommand(const CacheGeometry& first, const CacheGeometry& last,
                                          const std::string& out_file,
                                          const std::vector<std::string>& program) {
  const auto cache = [](const CacheGeometry& of) {
    return fmt::format("{:.0f},{},{}", of.bytes, of.ways, of.line);
  };
  auto command = CallgrindWithoutCaches(out_file, {});
  for (const auto& option : {std::string("--cache-sim=yes"), std::string("--I1=32768,8,64"),
                             "--D1=" + cache(first), "--LL=" + cache(last)})
    command.push_back(option);
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

std::vector<std::string> CallgrindWithoutCaches(const std::string& out_file,
                                                const std::vector<std::string>& program) {
  std::vector<std::string> command = {"valgrind", "--tool=callgrind", "--instr-atstart=no",
                                      "--callgrind-out-file=" + out_file};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

CallgrindCounts ParseCallgrind(std::string_view text) {
  const auto counts = CountsIn(text);
  return {Count(counts, "Dr") + Count(counts, "Dw"), Count(counts, "D1mr") + Count(counts, "D1mw"),
          Count(counts, "DLmr") + Count(counts, "DLmw")};
}

double CallgrindInstructions(std::string_view text) {
  const double instructions = Count(CountsIn(text), "Ir");
  if (!(instructions > 0)) throw std::runtime_error("callgrind counted no instruction");
  return instructions;
}

Work WorkOfRuns(const CallgrindCounts& with_l2, const CallgrindCounts& with_l3, double line) {
  Work work;
  work.bytes[Level::kL2] = with_l2.first_misses * line;
  work.bytes[Level::kL3] = with_l2.last_misses * line;
  work.bytes[Level::kDram] = with_l3.last_misses * line;
  return work;
}

}  // namespace dlroof::caches
