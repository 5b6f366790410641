// Trials of a benchmark's settings, in interleaved processes of dlroof_bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "baselines/settings/tuning.h"
#include "bench/workload/benchmark_name.h"
#include "counters/base/process.h"
#include "reporters/roofline/breakdown.h"

namespace dlroof::tune {

struct BenchTrialRequest {
  std::string program;           // path of dlroof_bench
  workload::BenchmarkName name;  // with the default setting
  double timeout_seconds = 60;   // [s] for each response of a process
};

// Returns a function that measures a block: each setting in a new process, one process running at a
// time; on a GPU all settings in one process. The result of a failed process has a reason. After a
// noisy block it pauses for up to 2 s.
settings::MeasureBlock BenchTrials(const BenchTrialRequest& request);

struct Proposal {
  settings::Setting setting;
  std::string text;  // for messages: "on 1 thread"
};

// Returns a setting that may reduce the breakdown's largest component, or nullopt if no setting can
// (another batch size or shape might).
std::optional<Proposal> ProposalOf(const roofline::Breakdown& breakdown, int threads);

// Returns alternatives to the GPU benchmark `name` listed by its operator: with an additional
// option, or without one of its options.
std::vector<Proposal> GpuProposals(const workload::BenchmarkName& name);

// Measures the default and the proposals in one process. Returns a sentence per proposal: its
// device time beside the default's, or why it has none. Returns an empty vector after an interrupt.
std::vector<std::string> TryOnGpu(const std::vector<Proposal>& proposals,
                                  const BenchTrialRequest& request);

// Returns TryOnGpu's sentence for the results `before` (default) and `after` (proposal).
std::string ComparedText(const Proposal& proposal, const settings::TrialResult& before,
                         const settings::TrialResult& after);

// Measures proposal and default interleaved for at most `budget_seconds`. Returns a sentence with
// the ratio of their times, or why there is none.
std::string TryProposal(const Proposal& proposal, const BenchTrialRequest& request,
                        double budget_seconds);

}  // namespace dlroof::tune
