// Trials of a benchmark: processes of dlroof_bench that take turns; and the trial that the largest
// part of a ledger proposes.
#pragma once

#include <optional>
#include <string>

#include "baselines/tune/setting.h"
#include "baselines/tune/trial.h"
#include "bench/workload/benchmark_name.h"
#include "reporters/ledger/ledger.h"

namespace dlroof::tune {

struct BenchTrialRequest {
  std::string program;          // dlroof_bench
  workload::BenchmarkName name;           // at the default setting
  double timeout_seconds = 60;  // [s] for each answer of a process
};

// Returns the measurement of blocks. The settings of a block are fresh processes, of which all but
// one are stopped at each moment. A process that fails leaves its reason as result. After blocks
// whose windows were disturbed it waits, up to 2 s.
tuning::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  tuning::Setting setting;
  std::string words;  // "on 1 thread"
};

// Absent: the largest part proposes nothing that a setting could do (another batch, another shape).
std::optional<Proposal> ProposalOf(const breakdown::Ledger& ledger, int threads);

// Measures the proposal against the default by turns, for at most so many seconds; returns a
// sentence with the ratio, or with why there is none.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

}  // namespace dlroof::tune
