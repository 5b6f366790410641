// Runs of one made-up problem on several numbers of threads or batch sizes with given breakdowns.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "reporters/roofline/placed_run.h"
#include "tests/fakes/ceilings.h"

namespace dlroof::fakes {

// The components of a breakdown [s].
struct PartSpec {
  double fork_join = 0, serial = 0, imbalance = 0, stolen = 0, functions = 0;
  std::optional<int> team = {};      // threads that work, if not all do
  std::optional<double> alone = {};  // [s] the call on one thread
};

struct PointSpec {
  int threads = 1;
  double seconds = 1;                          // [s]
  double flops = 100;                          // [flop]
  std::optional<double> bytes = 20;            // [byte] of DRAM
  double flops_rate = 10;                      // [flop/s] ceiling of these threads
  double bytes_rate = 10;                      // [byte/s]
  double batch = 1;                            // n of the problem
  std::optional<PartSpec> parts = PartSpec{};  // set if the parallel regions were watched
  bool no_roofs = false;
};

// Inverse of MakeBreakdown's split.
inline ParallelTime ParallelOf(const PointSpec& point) {
  const auto& parts = *point.parts;
  const int team = parts.team.value_or(point.threads);
  ParallelTime parallel{.mean = {.seconds = point.seconds}, .threads = team, .calls = 5};
  if (parts.functions > 0) parallel.parts.functions = parts.functions * team;
  if (team == 1) return parallel;
  parallel.single_thread_seconds = parts.alone;
  const double outside = parts.serial * team / (team - 1);
  const double longest = point.seconds - outside - parts.fork_join;
  parallel.mean.run_delay_seconds = parts.stolen;
  parallel.mean.regions = {.regions = 4,
                           .seconds = point.seconds - outside,
                           .longest_seconds = longest,
                           .busy_seconds = team * (longest - parts.imbalance - parts.stolen)};
  return parallel;
}

inline record::Record RecordOf(const PointSpec& point) {
  record::Record record{.name = fmt::format("Conv2D/cpu/onednn/fwd/f32/n{}c8h8w8k8r1s1/threads{}",
                                            point.batch, point.threads)};
  record::SplitName(record);
  record.threads = point.threads;
  record.cache = "warm";
  record.repetitions = {{.seconds = point.seconds, .iterations = 1}};
  Work& work = record.work[Provenance::kModelled];
  work.flops["fp32.vector"] = point.flops;
  if (point.bytes) work.bytes[Level::kDram] = *point.bytes;
  if (point.parts) record.parallel = ParallelOf(point);
  return record;
}

inline roofline::PlacedRun RunOf(const std::vector<PointSpec>& points) {
  record::RunFile file;
  machine::Machine machine{.device = "cpu", .name = "a made-up machine"};
  for (const auto& point : points) {
    file.records.push_back(RecordOf(point));
    if (point.no_roofs) continue;
    machine::CeilingSet& set = machine.by_threads[point.threads];
    set.flops["fp32.vector"] = Validated(point.flops_rate);
    set.bytes[Level::kDram] = Validated(point.bytes_rate);
  }
  file.machines = {machine};
  return roofline::PlaceRun(std::move(file));
}

// One thread: 12 s, with 10 s at the arithmetic roof (100 flop at 10 flop/s) and 2 s at DRAM's. Two
// threads have twice the rates unless a case says otherwise.
inline const PointSpec kOne = {.threads = 1, .seconds = 12};
inline PointSpec Two(double seconds) {
  return {.threads = 2, .seconds = seconds, .flops_rate = 20, .bytes_rate = 20};
}
// One thread bound by DRAM: 200 byte at 10 byte/s take 20 of its 22 s.
inline const PointSpec kMemoryOne = {.threads = 1, .seconds = 22, .bytes = 200};
inline PointSpec MemoryTwo(double seconds, double bytes, double bytes_rate) {
  return {
      .threads = 2, .seconds = seconds, .bytes = bytes, .flops_rate = 20, .bytes_rate = bytes_rate};
}
inline PointSpec Watched(PointSpec point, PartSpec parts) {
  point.parts = parts;
  return point;
}
inline PointSpec Unwatched(PointSpec point) {
  point.parts.reset();
  return point;
}
// Batch n on two threads of 20 flop/s and 20 byte/s.
inline PointSpec Batch(double n, double seconds, double flops, double bytes, PartSpec parts = {}) {
  return {.threads = 2,
          .seconds = seconds,
          .flops = flops,
          .bytes = bytes,
          .flops_rate = 20,
          .bytes_rate = 20,
          .batch = n,
          .parts = parts};
}
inline PointSpec WithoutBytes(PointSpec point) {
  point.bytes.reset();
  return point;
}

}  // namespace dlroof::fakes
