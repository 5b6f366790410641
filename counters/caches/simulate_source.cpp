// The counter source "simulate": the same benchmark once more in a child process under valgrind's
// cache simulator, with this machine's cache geometry; what it found is kept on disk.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "counters/base/error.h"
#include "counters/base/files.h"
#include "counters/base/folders.h"
#include "counters/base/process.h"
#include "counters/base/text_hash.h"
#include "counters/caches/callgrind.h"
#include "counters/caches/simulated_instructions.h"
#include "counters/counter_source.h"
#include "counters/cpu/core_caches.h"
#include "counters/cpu/cpu.h"

namespace dlroof::caches {
namespace {

namespace fs = std::filesystem;

struct Caches {
  CacheGeometry l1, l2, l3;  // as simulated
  CacheGeometry real_l3;
};

CacheGeometry GeometryOf(const cpu::Cpu& cpu, Level level) {
  const auto caches = cpu.topology.cache_of_cpu.find(level);
  if (caches == cpu.topology.cache_of_cpu.end() || cpu.allowed.empty()) return {};
  const auto cache = caches->second.find(cpu.allowed.front());
  if (cache == caches->second.end()) return {};
  return {cache->second.bytes, cpu::CacheWays(level, cpu.allowed.front())};
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

std::string WhyNot() {
  if (!IsInPath("valgrind"))
    return "valgrind is not installed, so no cache can be simulated (apt-get install valgrind)";
  const Caches caches = CachesHere();
  if (caches.l1.bytes == 0 || caches.l2.bytes == 0 || caches.l3.bytes == 0)
    return "the system does not describe three levels of caches, so there is nothing to simulate";
  return "";
}

struct Simulated {
  CallgrindCounts counts;
  nlohmann::json said;
};

Simulated Simulate(const CountRequest& request, const CacheGeometry& first,
                   const CacheGeometry& last) {
  auto run = RunSimulated(request.name, request.seed,
                          [&](const std::string& file, const std::vector<std::string>& program) {
                            return CallgrindCommand(first, last, file, program);
                          });
  return {ParseCallgrind(run.counts), std::move(run.said)};
}

// Everything that decides the counts.
std::string KeyText(const CountRequest& request, const Caches& caches) {
  constexpr int kVersion = 3;  // of what the marked program does and of this file
  return fmt::format("{} | {} | {} | {} | {} | seed {} | {}", request.name, request.made_by,
                     Text(caches.l1), Text(caches.l2), Text(caches.l3), request.seed, kVersion);
}

// The whole key is in the file too.
fs::path KeptIn(const fs::path& directory, const std::string& key) {
  return directory / fmt::format("simulated-{:016x}.json", HashOf(key));
}

nlohmann::json ReadKept(const fs::path& path, const std::string& key) {
  const auto kept = nlohmann::json::parse(ReadFileIfAny(path), nullptr, false);
  const bool whole = kept.is_object() && kept.value("key", "") == key && kept.contains("l2") &&
                     kept.contains("l3") && kept.contains("dram") && kept.contains("program");
  return whole ? kept : nlohmann::json();
}

// A cache that cannot be written costs time the next time, no more.
void Keep(const fs::path& path, const nlohmann::json& found) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  try {
    WriteFile(path, found.dump(1) + '\n');
  } catch (const BadInput&) {
  }
}

nlohmann::json Found(const CountRequest& request, const Caches& caches, const std::string& key) {
  std::cerr << fmt::format("simulating {} (1 of 2: L1 and L2)\n", request.name);
  const auto with_l2 = Simulate(request, caches.l1, caches.l2);
  std::cerr << fmt::format("simulating {} (2 of 2: L3)\n", request.name);
  const auto with_l3 = Simulate(request, caches.l1, caches.l3);
  nlohmann::json found = {{"key", key}, {"program", with_l2.said}};
  for (const auto& [level, bytes] :
       WorkOfRuns(with_l2.counts, with_l3.counts, caches.l1.line).bytes)
    found[std::string(Key(level))] = bytes;
  return found;
}

Counted CountSimulated(const CountRequest& request) {
  const Caches caches = CachesHere();
  const auto key = KeyText(request, caches);
  const auto directory = CacheDirectory();
  auto found = directory ? ReadKept(KeptIn(*directory, key), key) : nlohmann::json();
  const bool kept = !found.is_null();
  if (!kept) {
    found = Found(request, caches, key);
    if (directory) Keep(KeptIn(*directory, key), found);
  }
  Counted counted;
  for (const Level level : {Level::kL2, Level::kL3, Level::kDram})
    counted.work.bytes[level] = found.at(std::string(Key(level))).get<double>();
  counted.passes = kept ? 0 : 2;
  const auto& program = found.at("program");
  const auto loops = program.value("loops", "");
  counted.how = fmt::format(
      "callgrind on {}{} (at most the AVX2 path: valgrind has no AVX-512; the library cuts its "
      "loops for the caches of the CPU that valgrind pretends to be); L1 {}, L2 {}, L3 {}; lines "
      "fetched, no write-backs, no prefetch",
      program.value("algorithm", "?"), loops.empty() ? "" : ", " + loops, Text(caches.l1),
      Text(caches.l2), Text(caches.l3));
  if (caches.l3.bytes != caches.real_l3.bytes)
    counted.doubts.push_back(
        fmt::format("the L3 of {} is simulated as {}", Text(caches.real_l3), Text(caches.l3)));
  if (request.threads > 1)
    counted.doubts.push_back(
        fmt::format("simulated with one thread, the timed call has {}", request.threads));
  return counted;
}

[[maybe_unused]] const bool simulate_source_registered =
    RegisterCounterSource({"simulate", "cpu", Provenance::kSimulated, WhyNot, CountSimulated});

}  // namespace
}  // namespace dlroof::caches
