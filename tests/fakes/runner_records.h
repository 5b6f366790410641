// Workloads that are made up, run through the runner as the program runs them.
#pragma once

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "bench/runner/runner.h"
#include "reporters/live/google_benchmark.h"

namespace dlroof::fakes {

// Log of fake workloads.
struct RunLog {
  std::vector<std::string> prepared;
  std::vector<int> threads;
  int alive = 0, most_alive = 0;
};

// Keeps count of how many calls are prepared at a time.
struct Alive {
  explicit Alive(RunLog& seen) : log(seen) {
    log.most_alive = std::max(log.most_alive, ++log.alive);
  }
  ~Alive() { --log.alive; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
  RunLog& log;
};

inline workload::Workload Fake(const std::string& name, RunLog& log, bool with_memory = true) {
  return {.name = workload::ParseBenchmarkName(name),
          .prepare = [&log, name, with_memory](auto& settings) {
            log.prepared.push_back(name);
            log.threads.push_back(settings.threads);
            const auto alive = std::make_shared<Alive>(log);
            const auto values = std::make_shared<std::vector<double>>(1000, 1.0);
            workload::PreparedCall call;
            call.run = [alive, values] {
              for (double& value : *values) value = value * 0.5 + 1;
            };
            call.verify = [] { return workload::Verification{true, 0, 1, "by decree"}; };
            call.algorithm = "fake";
            call.modelled.launches = 1;
            if (with_memory)
              call.memory = {{values->data(), 4000, false}, {values->data() + 500, 4000, true}};
            return call;
          }};
}

// The same in a state of the caches, which its name says.
inline workload::Workload FakeIn(workload::CacheState cache, RunLog& log, bool with_memory = true) {
  auto workload =
      Fake(fmt::format("Fake/cpu/none/fwd/f32/n1/{}", workload::Key(cache)), log, with_memory);
  workload.cache = cache;
  return workload;
}

// Runs those that match `filter` and gives back their records.
inline std::vector<record::Record> Records(const std::vector<workload::Workload>& workloads,
                                           const workload::RunSettings& settings = {},
                                           const runner::RunnerOptions& options = {},
                                           int count_of_repetitions = 2,
                                           const std::string& filter = "all") {
  static std::string program = "test";  // Google Benchmark keeps the pointer
  std::string time = "--benchmark_min_time=0.001",
              repetitions = fmt::format("--benchmark_repetitions={}", count_of_repetitions);
  char* arguments[] = {program.data(), time.data(), repetitions.data(), nullptr};
  int count = 3;
  benchmark::Initialize(&count, arguments);
  benchmark::ClearRegisteredBenchmarks();
  live::Session session(nlohmann::json::object(), [] { return std::vector<machine::Machine>{}; });
  auto with_session = options;
  with_session.session = &session;
  if (with_session.repetitions == 0 && !options.stop)
    with_session.repetitions = static_cast<std::size_t>(count_of_repetitions);
  session.Add(runner::RegisterWorkloads(workloads, settings, with_session));
  live::TerminalReporter reporter(session);
  std::ostringstream out, err;
  reporter.SetOutputStream(&out);
  reporter.SetErrorStream(&err);
  benchmark::RunSpecifiedBenchmarks(&reporter, filter);
  benchmark::ClearRegisteredBenchmarks();
  return session.file().records;
}

// Returns "ok", or a status and its reason, "failed: illegal address", of each record.
inline std::vector<std::string> Statuses(const std::vector<record::Record>& records) {
  std::vector<std::string> statuses;
  for (const auto& record : records)
    statuses.push_back(record.status == record::Status::kOk
                           ? "ok"
                           : fmt::format("{}: {}", record::Key(record.status), record.reason));
  return statuses;
}

// The record of one workload.
inline record::Record RecordOf(const workload::Workload& workload,
                               const workload::RunSettings& settings = {},
                               const runner::RunnerOptions& options = {},
                               int count_of_repetitions = 2) {
  const auto records = Records({workload}, settings, options, count_of_repetitions);
  EXPECT_EQ(records.size(), 1U);
  return records.at(0);
}

}  // namespace dlroof::fakes
