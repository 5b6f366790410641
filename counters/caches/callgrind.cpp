#include "counters/caches/callgrind.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "counters/base/counter_manager.h"
#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/json_text.h"
#include "counters/base/keys.h"
#include "counters/base/process.h"
#include "counters/cpu/cpu.h"

namespace dlroof::caches {
namespace {

double Count(const std::map<std::string, double>& counts, const std::string& event) {
  if (const auto* count = FindValue(counts, event)) return *count;
  throw std::runtime_error(fmt::format("callgrind counted no {}", event));
}

// Returns callgrind's counts by event. Throws std::runtime_error that names the missing line.
std::map<std::string, double> CountsIn(std::string_view text) {
  std::map<std::string, std::string> found;  // the last line that begins with each word
  std::istringstream lines{std::string(text)};
  for (std::string word, rest; lines >> word && std::getline(lines, rest);) found[word] = rest;
  std::istringstream events(found["events:"]),
      numbers(found[found.contains("totals:") ? "totals:" : "summary:"]);
  if (events.str().empty() || numbers.str().empty())
    throw std::runtime_error("callgrind's output file has no events or no totals");
  std::map<std::string, double> counts;
  for (std::string event, number; events >> event;) {
    double& value = counts[event];
    if (!(numbers >> number)) continue;  // callgrind omits zeros at the end of a line
    value = ParseNumber<double>(number).value_or(-1);
    if (value < 0) throw std::runtime_error(fmt::format("callgrind's {} is not a count", event));
  }
  return counts;
}

namespace fs = std::filesystem;

std::string& ChosenProgram() {
  static std::string program;
  return program;
}

// Returns the path of the program to simulate (see SimulateCallsOf).
std::string BenchProgram() {
  if (!ChosenProgram().empty()) return ChosenProgram();
  const auto self = fs::read_symlink("/proc/self/exe");
  for (const auto& candidate :
       {self, self.parent_path() / "dlroof_bench", self.parent_path() / "../dlroof_bench"})
    if (candidate.filename() == "dlroof_bench" && access(candidate.c_str(), X_OK) == 0)
      return candidate.string();
  throw std::runtime_error("there is no dlroof_bench beside " + self.string());
}

// Returns the last line that the program wrote. Skips Valgrind's lines, which begin with "==".
std::string LastLine(const std::string& text) {
  std::istringstream lines(text);
  std::string last, line;
  while (std::getline(lines, line))
    if (!line.empty() && !line.starts_with("==")) last = line;
  return last.empty() ? "it printed no message" : last;
}

}  // namespace

CacheGeometry Simulable(const CacheGeometry& cache, int default_ways) {
  const int ways = cache.ways > 0 ? cache.ways : default_ways;
  const double lines = cache.bytes / cache.line;
  CacheGeometry best;
  double best_error = std::numeric_limits<double>::infinity();
  // Tries numbers of ways from three quarters of `ways` to twice as many. Selects the nearest
  // capacity, then the nearest number of ways.
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
  std::vector<std::string> command = {"valgrind",
                                      "--tool=callgrind",
                                      "--instr-atstart=no",
                                      "--callgrind-out-file=" + out_file,
                                      "--cache-sim=yes",
                                      "--I1=32768,8,64",
                                      "--D1=" + cache(first),
                                      "--LL=" + cache(last)};
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

CallgrindCounts ParseCallgrind(std::string_view text) {
  const auto counts = CountsIn(text);
  return {Count(counts, "D1mr") + Count(counts, "D1mw"),
          Count(counts, "DLmr") + Count(counts, "DLmw")};
}

Work WorkOfRuns(const CallgrindCounts& with_l2, const CallgrindCounts& with_l3, double line) {
  Work work;
  work.bytes[Level::kL2] = with_l2.first_misses * line;
  work.bytes[Level::kL3] = with_l2.last_misses * line;
  work.bytes[Level::kDram] = with_l3.last_misses * line;
  return work;
}

void SimulateCallsOf(const std::string& program) { ChosenProgram() = program; }

// --- The counter source "simulate": simulates this machine's caches and stores the counts ---

namespace {

struct Caches {
  CacheGeometry l1, l2, l3;  // simulated (see Simulable); 0 bytes if unknown
  CacheGeometry real_l3;
};

CacheGeometry GeometryOf(const cpu::Cpu& cpu, Level level) {
  const auto* const caches = FindValue(cpu.topology.cache_of_cpu, level);
  if (caches == nullptr || cpu.allowed.empty()) return {};
  const auto* const cache = FindValue(*caches, cpu.allowed.front());
  return cache == nullptr ? CacheGeometry() : CacheGeometry{cache->bytes, cache->ways};
}

Caches CachesHere() {
  const cpu::Cpu cpu = cpu::ThisCpu();
  Caches caches{.real_l3 = GeometryOf(cpu, Level::kL3)};
  const auto l1 = GeometryOf(cpu, Level::kL1), l2 = GeometryOf(cpu, Level::kL2);
  if (l1.bytes > 0) caches.l1 = Simulable(l1, 8);
  if (l2.bytes > 0) caches.l2 = Simulable(l2, 16);
  if (caches.real_l3.bytes > 0) caches.l3 = Simulable(caches.real_l3, 16);
  return caches;
}

std::optional<Reason> UnavailableReason() {
  if (!FoundInPath("valgrind"))
    return Reason{"valgrind is not installed: to simulate caches, apt-get install valgrind"};
  const Caches caches = CachesHere();
  if (caches.l1.bytes == 0 || caches.l2.bytes == 0 || caches.l3.bytes == 0)
    return Reason{"the caches cannot be simulated: the system does not describe three levels"};
  return std::nullopt;
}

struct Simulated {
  CallgrindCounts counts;
  nlohmann::json report;
};

// Runs the benchmark on one thread under callgrind. Throws std::runtime_error with the program's
// last line if the program fails.
Simulated Simulate(const CountRequest& request, const CacheGeometry& first,
                   const CacheGeometry& last) {
  const TemporaryFolder folder;
  const auto file = folder / "counts";
  const auto ran =
      RunChild(CallgrindCommand(first, last, file,
                                {BenchProgram(), "--dlroof_simulated_call=" + request.name,
                                 fmt::format("--dlroof_seed={}", request.seed)}),
               {{"OMP_NUM_THREADS", "1"}});
  if (ran.exit_code != 0)
    throw std::runtime_error(fmt::format("the program under valgrind ended with exit code {}: {}",
                                         ran.exit_code, LastLine(ran.err)));
  auto report = nlohmann::json::parse(LastLine(ran.out), nullptr, false);
  if (!report.is_object())
    throw std::runtime_error("the program under valgrind printed no report but: " + ran.out);
  // The file ".1" has the counts between the marks, the next file the counts after them.
  return {ParseCallgrind(ReadFileIfAny(file + ".1")), std::move(report)};
}

// Returns the key of stored counts: a text with all inputs that determine the counts.
std::string KeyText(const CountRequest& request, const Caches& caches) {
  constexpr int kVersion = 3;  // increase if the simulated call or the file's format changes
  return fmt::format("{} | {} | {} | {} | {} | seed {} | {}", request.name, request.made_by,
                     Text(caches.l1), Text(caches.l2), Text(caches.l3), request.seed, kVersion);
}

fs::path StoredPath(const fs::path& directory, const std::string& key) {
  return directory / fmt::format("simulated-{:016x}.json", HashOf(key));
}

// Returns the stored counts, or null if the file is missing, incomplete or of another key.
nlohmann::json ReadStored(const fs::path& path, const std::string& key) {
  const auto stored = nlohmann::json::parse(ReadFileIfAny(path), nullptr, false);
  const bool complete = stored.is_object() && stored.value("key", "") == key &&
                        stored.contains("l2") && stored.contains("l3") && stored.contains("dram") &&
                        stored.contains("program");
  return complete ? stored : nlohmann::json();
}

// Stores the counts. Ignores a failure: the next run then simulates again.
void Store(const fs::path& path, const nlohmann::json& found) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  try {
    WriteFile(path, JsonText(found, 1) + '\n');
  } catch (const BadInput&) {
  }
}

nlohmann::json SimulateLevels(const CountRequest& request, const Caches& caches,
                              const std::string& key) {
  std::cerr << fmt::format("simulating {} (1 of 2: L1 and L2)\n", request.name);
  const auto with_l2 = Simulate(request, caches.l1, caches.l2);
  std::cerr << fmt::format("simulating {} (2 of 2: L3)\n", request.name);
  const auto with_l3 = Simulate(request, caches.l1, caches.l3);
  nlohmann::json found = {{"key", key}, {"program", with_l2.report}};
  for (const auto& [level, bytes] :
       WorkOfRuns(with_l2.counts, with_l3.counts, caches.l1.line).bytes)
    found[std::string(Key(level))] = bytes;
  return found;
}

Counted CountSimulated(const CountRequest& request) {
  const Caches caches = CachesHere();
  const auto key = KeyText(request, caches);
  const auto directory = CacheDirectory();
  auto found = directory ? ReadStored(StoredPath(*directory, key), key) : nlohmann::json();
  if (found.is_null()) {
    found = SimulateLevels(request, caches, key);
    if (directory) Store(StoredPath(*directory, key), found);
  }
  Counted counted;
  for (const Level level : {Level::kL2, Level::kL3, Level::kDram})
    counted.work.bytes[level] = found.at(std::string(Key(level))).get<double>();
  const auto algorithm = found.at("program").value("algorithm", "");  // "" for own benchmarks
  counted.how = fmt::format(
      "callgrind{}{} (at most AVX2, as valgrind does not support AVX-512; the library blocks "
      "its loops for the caches of the CPU that valgrind emulates); L1 {}, L2 {}, L3 {}; fetched "
      "lines, without write-backs and prefetches",
      algorithm.empty() ? "" : " on ", algorithm, Text(caches.l1), Text(caches.l2),
      Text(caches.l3));
  if (caches.l3.bytes != caches.real_l3.bytes)
    counted.caveats.push_back(
        fmt::format("the L3 of {} is simulated as {}", Text(caches.real_l3), Text(caches.l3)));
  if (request.threads > 1)
    counted.caveats.push_back(
        fmt::format("simulated with one thread; the timed call has {}", request.threads));
  return counted;
}

[[maybe_unused]] const bool simulate_source_registered = RegisterCounterSource(
    {"simulate", "cpu", Provenance::kSimulated, UnavailableReason, CountSimulated});

}  // namespace
}  // namespace dlroof::caches
