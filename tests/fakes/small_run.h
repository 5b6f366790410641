// Small run files for tests of comparisons, the question of a comparison and the answer.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "baselines/compare/compare.h"
#include "baselines/compare/paired_record.h"

namespace dlroof::fakes {

inline machine::Machine SmallMachine(const std::string& measured_at = "2020-01-01T00:00:00Z",
                                     double speed = 1) {
  machine::Machine machine{
      .device = "cpu", .name = "test", .fingerprint = "00", .measured_at = measured_at};
  machine::CeilingSet& all = machine.by_threads[2];
  all.flops["fp32.vector"] = {
      .per_second = 100 * speed, .how = "fake", .status = machine::CeilingStatus::kValidated};
  all.bytes[Level::kDram] = {
      .per_second = 10 * speed, .how = "fake", .status = machine::CeilingStatus::kValidated};
  return machine;
}

inline std::string Name(const std::string& problem) {
  return fmt::format("Conv2D/cpu/onednn/fwd/f32/{}", problem);
}

// 9 clean repetitions that scatter by 1 % around `seconds`; 100 flop and 1 byte: at a speed of 1
// the roof takes 1 s.
inline record::Record Measured(const std::string& problem, double seconds, int clean = 9) {
  record::Record record{.name = Name(problem)};
  record::SplitName(record);
  record.threads = 2;
  record.cache = "cold";
  record.algorithm = "brgemm";
  for (int i = 0; i < 9; ++i)
    record.repetitions.push_back(
        {.seconds = seconds * (1 + 0.01 * (i - 4) / 4), .iterations = 3, .noisy = i >= clean});
  Work& work = record.work[Provenance::kModelled];
  work.flops["fp32.vector"] = 100;
  work.bytes[Level::kDram] = 1;
  work.launches = 1;
  return record;
}

inline compare::NamedRun RunOf(const std::string& where,
                               const std::vector<record::Record>& records) {
  compare::NamedRun run{where, {}};
  run.file.context["dlroof"] = {{"schema", record::kSchema},
                                {"conventions", {{"flops", "fma is 2"}}}};
  run.file.machines = {SmallMachine()};
  run.file.records = records;
  return run;
}

// Noise that is known keeps single benchmarks apart from what other tests look at.
inline compare::CompareOptions Options(double min_effect = 0.03) {
  return compare::CompareOptions{.min_effect = min_effect, .run_noise = 0.003};
}

// One word per row; what is gone begins with "-".
inline std::vector<std::string> Verdicts(const compare::CompareResult& result) {
  std::vector<std::string> verdicts;
  for (const auto& row : result.rows)
    verdicts.push_back(
        fmt::format("{}{}", row.contender == nullptr ? "-" : "", statistics::Key(row.verdict)));
  return verdicts;
}

}  // namespace dlroof::fakes
